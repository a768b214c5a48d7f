"""From prompt text to token ids, by the model's own chat template.

Text that a game or a seat supplies can never become a control token: only the template's own text is
tokenized with special and added tokens recognised.
"""

from __future__ import annotations

import re
from functools import lru_cache

from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError

_PROBE = "\ue000"  # a private-use character, which no template contains


class Chat:
    """Single-message chats of one tokenizer: state-only context, so each turn is a chat of its own."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if not tokenizer.chat_template:
            raise GymposiumError(
                f"The tokenizer of {tokenizer.name_or_path!r} has no chat template. Use an instruction-tuned model, "
                f"or set tokenizer.chat_template and save it beside the model."
            )
        if tokenizer.eos_token_id is None:
            raise GymposiumError(f"The tokenizer of {tokenizer.name_or_path!r} names no end-of-turn token (eos_token).")
        self.tokenizer = tokenizer
        before, found, after = self._render({"role": "user", "content": _PROBE}, open_reply=True).partition(_PROBE)
        if not found:
            raise GymposiumError(f"The chat template of {tokenizer.name_or_path!r} drops what the user says.")
        self._before = tuple(tokenizer.encode(before, add_special_tokens=False))
        self._after = tuple(tokenizer.encode(after, add_special_tokens=False))
        self.end: int = self._end_of_turn()
        """The token that ends a reply: what the template puts behind one, or the tokenizer's eos."""
        self.stops = frozenset({self.end, int(tokenizer.eos_token_id)})
        """Tokens after which nothing more is sampled."""
        added = sorted((t for t in tokenizer.get_added_vocab() if len(t) > 1), key=len, reverse=True)
        self._added = re.compile("|".join(map(re.escape, added))) if added else None
        self.prompt = lru_cache(maxsize=8192)(self._prompt)
        """Ids of a prompt with `text` as the user's message, ready for the reply."""

    def plain(self, text: str) -> tuple[int, ...]:
        """Ids of text that somebody else wrote: `<|end|>` in it is seven ordinary characters.

        Tokenizers leave only special tokens unrecognised on demand, not other added ones (`<tool_call>`), so
        the text is cut behind the first character of each of those."""
        cuts = [] if self._added is None else [match.start() + 1 for match in self._added.finditer(text)]
        ids: list[int] = []
        for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
            ids += self.tokenizer.encode(text[start:stop], add_special_tokens=False, split_special_tokens=True)
        return tuple(ids)

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole reply, end of turn included."""
        return (*self.plain(text), self.end)

    def read(self, ids: tuple[int, ...]) -> str:
        """The text of a completion, without its end of turn. Control tokens inside it stay visible."""
        if ids and ids[-1] in self.stops:
            ids = ids[:-1]
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _render(self, *messages: dict[str, str], open_reply: bool = False) -> str:
        """The template's text. A model that can think first is told not to: replies here are short."""
        return str(
            self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=open_reply, enable_thinking=False
            )
        )

    def _end_of_turn(self) -> int:
        user, reply = {"role": "user", "content": "?"}, {"role": "assistant", "content": _PROBE}
        behind = self._render(user, reply).rpartition(_PROBE)[2]
        ids = self.tokenizer.encode(behind, add_special_tokens=False)
        if ids and ids[0] in self.tokenizer.all_special_ids:
            return int(ids[0])
        return int(self.tokenizer.eos_token_id)

    def _prompt(self, text: str) -> tuple[int, ...]:
        return (*self._before, *self.plain(text), *self._after)
