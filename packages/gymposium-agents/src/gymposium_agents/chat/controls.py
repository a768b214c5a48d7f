"""Control tokens: finding them in text, hiding those that the template did not write, and encoding text without
them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain, groupby

from tokenizers import AddedToken, Tokenizer

from gymposium.errors import GymposiumError
from gymposium.util.visible import shorten

THINKING = frozenset({"<think>", "</think>"})
"""The tags around a model's thoughts. They are not hidden in past replies, because templates look for them there."""


def is_panic(error: BaseException) -> bool:
    """Return True for a Rust panic, which is not an `Exception`. The tokenizers library panics when a regular
    expression takes too long."""
    return type(error).__name__ == "PanicException"


class ControlTokens:
    """The added tokens of a tokenizer that contain text, whether marked special or not (Qwen's `<tool_call>` is not).
    Added runs of white space, such as Gemma's, are ordinary text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.added: dict[int, AddedToken] = dict(sorted(tokenizer.get_added_tokens_decoder().items()))
        contents = {t.content for t in self.added.values() if t.special or t.content.replace("▁", " ").strip()}
        self.contents = frozenset(contents)
        self.characters: tuple[str, ...] = tuple(sorted(set().union(*contents)))
        """The characters of control tokens, in order."""
        firsts = "".join(map(re.escape, sorted({content[0] for content in contents})))
        self._first = re.compile(f"[{firsts}]") if contents else None
        in_order = sorted(contents, key=lambda content: (content[0], -len(content)))
        self._lengths = {
            first: tuple(dict.fromkeys(map(len, group)))
            for first, group in groupby(in_order, key=lambda content: content[0])
        }
        self._longest = max(map(len, contents), default=0)
        self._beginnings = frozenset(content[:n] for content in contents for n in range(1, len(content)))
        self._ends = frozenset(content[n:] for content in contents for n in range(1, len(content)))
        self._all = "\n".join(sorted(contents))

    def found(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield each place in `text` where a control token begins, with the longest token there. Tokens may overlap."""
        if self._first is None:
            return
        for match in self._first.finditer(text):
            at = match.start()
            for length in self._lengths[match[0]]:
                if (content := text[at : at + length]) in self.contents:
                    yield at, content
                    break

    def hidden(self, text: str, stand_ins: Mapping[str, str], keep: Container[str] = (), *, parts: bool = False) -> str:
        """Return `text` without complete control tokens, except those in `keep`: the first character of each is
        replaced by its stand-in. With `parts`, the first character of each part found by the method `parts` is
        replaced, too."""
        places = [at for at, content in self.found(text) if content not in keep]
        if parts:
            places += self.parts(text)
        if not places:
            return text
        characters = list(text)
        for at in places:
            characters[at] = stand_ins.get(characters[at], characters[at])
        return "".join(characters)

    def parts(self, text: str) -> list[int]:
        """Return the indices of partial control tokens, which adjacent text may complete (`<` and `>` complete
        `tool_call`). Partial tokens touch the start or the end of the text, ignoring white space."""
        if self._first is None:
            return []
        last = len(text.rstrip())
        first = len(text) - len(text.lstrip())
        places = [
            match.start()
            for match in self._first.finditer(text, max(first, last - self._longest), last)
            if text[match.start() : last] in self._beginnings
        ]
        stop = min(last, first + self._longest)
        inside = first < stop == last and (whole := text[first:last]) in self._all and whole not in self.contents
        if inside or any(text[first:n] in self._ends for n in range(first + 1, stop + 1)):
            places.append(first)
        return places

    def marked(self, text: str, mark: str, only: Container[str] | None = None) -> str:
        """Return `text` with `mark` before its control tokens, or before those in `only`."""
        pieces: list[str] = []
        done = 0
        for at, content in self.found(text):
            if at >= done and (only is None or content in only):
                pieces += text[done:at], mark, content
                done = at + len(content)
        return "".join((*pieces, text[done:])) if pieces else text


class Encoder:
    """A copy of a tokenizer with renamed control tokens that begin with `mark`. Text without the mark cannot contain a
    control token. All other text is encoded as the tokenizer does."""

    def __init__(self, tokenizer: Tokenizer, controls: ControlTokens, mark: str) -> None:
        renamed = Tokenizer(tokenizer.model)
        if tokenizer.normalizer is not None:
            renamed.normalizer = tokenizer.normalizer
        if tokenizer.pre_tokenizer is not None:
            renamed.pre_tokenizer = tokenizer.pre_tokenizer
        names = {i: mark * (t.content in controls.contents) + t.content for i, t in controls.added.items()}
        self._lead = 2 * mark  # text after it is encoded as in the middle of a conversation, not as at the beginning
        renamed.add_tokens([AddedToken(self._lead, normalized=False)])
        renamed.add_tokens([
            AddedToken(
                names[i],
                single_word=token.single_word,
                lstrip=token.lstrip,
                rstrip=token.rstrip,
                normalized=token.normalized,
            )
            for i, token in controls.added.items()
        ])  # fmt: skip
        self._tokenizer = renamed
        self._ids: dict[int, tuple[int, ...]] = {}
        for i, name in names.items():
            new_id = renamed.token_to_id(name)
            is_new = tokenizer.model.token_to_id(name) is None
            if new_id is None or (is_new and tokenizer.model.id_to_token(new_id) is not None):
                raise GymposiumError(
                    "The ids of this tokenizer's vocabulary have gaps, so its control tokens cannot be distinguished "
                    "from text. Number the vocabulary without gaps, or use another model."
                )
            self._ids[new_id] = (i,)
        unknown = getattr(tokenizer.model, "unk_token", None)  # the token for text that the vocabulary cannot represent
        for i, token in controls.added.items():
            content = token.content
            if content in controls.contents and content != unknown and tokenizer.model.token_to_id(content) == i:
                self._ids[i] = self._spell_out(content, i)
        self._check(controls, mark, unknown)

    def _check(self, controls: ControlTokens, mark: str, unknown: str | None) -> None:
        """Raise `GymposiumError` if the text of a control token is encoded as that token, because the normalizer
        removes or replaces the mark. BERT's, for example, removes private-use characters."""
        added = [token for token in controls.added.values() if token.content in controls.contents]
        renamed = {i: token.content for i, token in controls.added.items() if token in added}
        text = "\n".join(controls.contents)
        found = [renamed[i] for i in self.within(text) if i in renamed and renamed[i] != unknown]
        normalizer = self._tokenizer.normalizer
        if normalizer is not None and mark not in normalizer.normalize_str(mark):
            found += [token.content for token in added if token.normalized]
        if found:
            raise GymposiumError(
                f"This tokenizer turns the text {found[0]!r} into a control token, even in replies and game text, "
                f"because its normalizer changes the private-use characters that mark them. Add its control tokens "
                f"again with normalized=False and save the tokenizer beside the model, or use another model."
            )

    def _spell_out(self, content: str, control: int) -> tuple[int, ...]:
        """Return the ids of a control token's text, character by character. They replace the token where the
        vocabulary's merges make it from ordinary text (`</s>`, in some converted tokenizers)."""
        ids = tuple(piece.id for character in content for piece in self._tokenizer.model.tokenize(character))
        if control in ids:
            raise GymposiumError(
                f"This tokenizer can only write {content!r} as a control token, so any text could contain one. Use "
                f"another model, or give that token a longer name."
            )
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a whole conversation."""
        return self._restore_ids(self._encode_copy(text))

    def within(self, text: str) -> tuple[int, ...]:
        """Return the ids of text from the middle of a conversation."""
        return self._restore_ids(self._encode_copy(self._lead + text)[1:])

    def _encode_copy(self, text: str) -> list[int]:
        """Encode the text with the copy, and return the copy's ids. Raises `GymposiumError` if the tokenizer gives up
        on this text."""
        try:
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        except BaseException as error:
            if not is_panic(error):
                raise
            raise GymposiumError(
                f"The tokenizer cannot encode {shorten(text)} ({error}). Use another model."
            ) from error
        return ids

    def _restore_ids(self, ids: list[int]) -> tuple[int, ...]:
        """Convert the copy's ids to the original tokenizer's ids."""
        return tuple(chain.from_iterable(self._ids.get(i, (i,)) for i in ids))
