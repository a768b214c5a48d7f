"""Control tokens: finding them in text, hiding those that are not the template's, and encoding the rest."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import groupby

from tokenizers import AddedToken, Tokenizer

from gymposium.errors import GymposiumError

THINKING = frozenset({"<think>", "</think>"})
"""Around a model's thoughts. Templates look for them in past replies, so there they stay whole."""


class ControlTokens:
    """The added tokens of a tokenizer, special or not (Qwen's `<tool_call>` is not), that are text to people.

    Runs of white space that were added (Gemma's) are ordinary text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.added: dict[int, AddedToken] = dict(sorted(tokenizer.get_added_tokens_decoder().items()))
        contents = {t.content for t in self.added.values() if t.special or t.content.replace("▁", " ").strip()}
        self.contents = frozenset(contents)
        self.firsts: tuple[str, ...] = tuple(sorted({content[0] for content in contents}))
        self._first = re.compile("[" + "".join(map(re.escape, self.firsts)) + "]") if contents else None
        in_order = sorted(contents, key=lambda content: (content[0], -len(content)))
        self._lengths = {
            first: tuple(dict.fromkeys(map(len, group)))
            for first, group in groupby(in_order, key=lambda content: content[0])
        }
        self._beginnings = frozenset(content[:n] for content in contents for n in range(1, len(content)))

    def found(self, text: str) -> Iterator[tuple[int, str]]:
        """Where each one begins, longest first where several begin at one place; they may overlap."""
        if self._first is None:
            return
        for match in self._first.finditer(text):
            at = match.start()
            for length in self._lengths[match[0]]:
                if (content := text[at : at + length]) in self.contents:
                    yield at, content
                    break

    def hidden(self, text: str, stand_ins: Mapping[str, str], keep: Container[str] = ()) -> str:
        """`text` without a whole control token in it: the first character of each gives way to its stand-in. So does
        that of one that has only begun where the text ends, in case a template puts the rest behind it."""
        if self._first is None:
            return text
        places = [at for at, content in self.found(text) if content not in keep]
        places += [m.start() for m in self._first.finditer(text) if text[m.start() :] in self._beginnings]
        if not places:
            return text
        characters = list(text)
        for at in places:
            characters[at] = stand_ins.get(characters[at], characters[at])
        return "".join(characters)

    def marked(self, text: str, mark: str, only: Container[str] | None = None) -> str:
        """`text` with `mark` in front of its control tokens, or of `only` some."""
        pieces: list[str] = []
        done = 0
        for at, content in self.found(text):
            if at >= done and (only is None or content in only):
                pieces += text[done:at], mark, content
                done = at + len(content)
        return "".join((*pieces, text[done:])) if pieces else text


class Encoder:
    """The tokenizer with its control tokens under other names: `mark` before each. Text without the mark can hold
    none of them, whatever it says; all else is encoded as before, in one go."""

    def __init__(self, tokenizer: Tokenizer, controls: ControlTokens, mark: str) -> None:
        renamed = Tokenizer(tokenizer.model)
        if tokenizer.normalizer is not None:
            renamed.normalizer = tokenizer.normalizer
        if tokenizer.pre_tokenizer is not None:
            renamed.pre_tokenizer = tokenizer.pre_tokenizer
        names = {i: mark * (t.content in controls.contents) + t.content for i, t in controls.added.items()}
        # Behind it a piece of text is encoded as it is in the middle of a conversation, not as a beginning.
        self._lead = 2 * mark
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
            found = renamed.token_to_id(name)
            ours = tokenizer.model.token_to_id(name) is None
            if found is None or (ours and tokenizer.model.id_to_token(found) is not None):
                raise GymposiumError(
                    "The ids of this tokenizer's vocabulary have gaps, so its control tokens cannot be told from text. "
                    "Number the vocabulary without gaps, or take another model."
                )
            self._ids[found] = (i,)
        unknown = getattr(tokenizer.model, "unk_token", None)  # what text becomes that the vocabulary cannot spell
        for i, token in controls.added.items():
            if token.content not in controls.contents or token.content == unknown:
                continue
            if tokenizer.model.token_to_id(token.content) == i:
                self._ids[i] = self._spelled(token.content, i)

    def _spelled(self, content: str, control: int) -> tuple[int, ...]:
        """A control token as ordinary text, letter by letter: some models make one out of text by themselves (`</s>`,
        by merges that a conversion left behind)."""
        pieces = (piece.id for character in content for piece in self._tokenizer.model.tokenize(character))
        if control in (ids := tuple(pieces)):
            raise GymposiumError(
                f"This tokenizer cannot write {content!r} but as a control token, so anybody's text could hold one. "
                "Take another model, or give that token a longer name."
            )
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of a whole conversation."""
        return self._final(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def within(self, text: str) -> tuple[int, ...]:
        """Ids of text from the middle of a conversation."""
        return self._final(self._tokenizer.encode(self._lead + text, add_special_tokens=False).ids[1:])

    def _final(self, found: list[int]) -> tuple[int, ...]:
        ids: list[int] = []
        for i in found:
            known = self._ids.get(i)
            if known is None:
                ids.append(i)
            else:
                ids += known
        return tuple(ids)
