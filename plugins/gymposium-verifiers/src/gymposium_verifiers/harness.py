"""The harness of a seat: a chat with the model in this process, with one request for each turn of the match."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf
from openai import APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.compaction import is_context_overflow

from gymposium.errors import BadOption
from gymposium_verifiers.config import ChatHarnessConfig
from gymposium_verifiers.taskset import MatchData

_DONE = vf.ProgramResult(exit_code=0, stdout="", stderr="")


class ChatSession(vf.HarnessSession):
    """The conversation of one seat. It only grows, so a match is one branch of the trace."""

    def __init__(self, *given: Any) -> None:
        """The arguments are those of `vf.HarnessSession`. Raises `BadOption` for a task that is not a match."""
        super().__init__(*given)
        if not isinstance(self.data, MatchData):
            raise BadOption(
                f"This harness supports only tasks of gymposium-verifiers, not {type(self.data).__name__}. Choose "
                "another one."
            )
        self._client = AsyncOpenAI(
            base_url=self.endpoint,
            api_key=self.secret,
            timeout=None,
            http_client=DefaultAsyncHttpxClient(trust_env=False, timeout=None),  # the endpoint is on this machine
        )
        self._offered: dict[str, Any] = {"tools": self.data.tools} if self.data.tools else {}
        system = self.data.system_prompt
        self._messages: list[Any] = [{"role": "system", "content": system}] if system else []

    async def _run(self, messages: vf.Messages) -> vf.ProgramResult:
        """Add `messages` and request a reply from the model. No request is made if the conversation exceeds the model's
        context."""
        self._messages += map(message_to_wire, messages)
        try:
            completion = await self._client.chat.completions.create(
                model=self.ctx.model, messages=self._messages, **self._offered
            )
        except APIStatusError as error:
            if is_context_overflow(error):
                return _DONE
            raise
        self._messages.append(completion.choices[0].message.model_dump(exclude_none=True))
        return _DONE

    async def close(self) -> None:
        """Close the connection."""
        await super().close()
        await self._client.close()


class ChatHarness(vf.Harness[ChatHarnessConfig]):
    """A chat harness without a program. The environment answers the model's tool calls."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def session(self, *given: Any) -> ChatSession:
        """Return the session of one rollout; the arguments are those of `vf.HarnessSession`."""
        return ChatSession(self, *given)

    async def launch(self, *given: Any) -> vf.ProgramResult:
        """Do nothing: a harness with its own sessions launches no program."""
        raise NotImplementedError("this harness does not launch programs")
