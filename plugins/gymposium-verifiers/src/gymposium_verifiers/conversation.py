"""The conversation with one seat's agent: asks of a match become messages, and the agent's messages become replies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import verifiers.v1 as vf

from gymposium.envs.table import AskedSeat
from gymposium.errors import GymposiumError
from gymposium.players.protocol import Reply, Usage
from gymposium.replies.prompt import Prompt
from gymposium.tasks.tools import Call
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.strict_json import parse_strict_json
from gymposium_verifiers.matches import DIALECT

BUDGETS = ("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens")
"""verifiers' agent limits that count as a full context."""


class SeatStopped(GymposiumError):
    """Error for a seat's agent that failed or was stopped, which ends the match without a result."""


class SeatConversation:
    """The conversation with one seat's agent. The first message has the rules, and later ones only new text. Each tool
    result is a tool message."""

    def __init__(self, seat: int, interaction: vf.Interaction, prompt: Prompt) -> None:
        self._seat = seat
        self._interaction = interaction
        self._prompt = prompt
        self._begun = False
        self._calls: Sequence[vf.ToolCall] = ()
        """The tool calls of the last reply."""

    async def reply(self, asked: AskedSeat) -> Reply:
        """Return the agent's reply to an ask. An agent that has no tokens or turns left is out of context. Raises
        `SeatStopped` if the agent failed or was stopped for another reason."""
        segment = await self._interaction.turn(self._make_messages(asked))
        self._begun = True
        trace = self._interaction.trace
        if segment.terminated:
            return self._end_reply(trace)
        said = [message for message in segment.messages if isinstance(message, vf.AssistantMessage)][-1]
        self._calls = said.tool_calls or ()
        if isinstance(self._prompt.reader, ToolsReader) and self._calls:
            text = write_reply(said.content or "", self._calls)
        else:
            text = (said.content if segment.root_reply is None else segment.root_reply) or ""
        call = next(call for call in reversed(trace.calls) if call.error is None)
        usage = None
        if call.usage is not None:
            usage = Usage(call.usage.input_tokens, call.usage.completion_tokens, call.time.duration)
        return Reply(text, "length" if call.finish_reason == "length" else "stop", usage=usage)

    def _make_messages(self, asked: AskedSeat) -> vf.Messages:
        if not self._begun:
            return [vf.UserMessage(content=asked.text)]
        observation, reason = asked.ask.observe(self._prompt.style), asked.ask.reason
        text = self._prompt(observation, reason, rules=False)
        if not self._calls:
            return [vf.UserMessage(content=text)]
        results = [result.text for result in observation.results] if reason is None else []
        if len(results) != len(self._calls):
            results = [text] * len(self._calls)
        return [
            vf.ToolMessage(tool_call_id=call.id, name=call.name, content=result)
            for call, result in zip(self._calls, results, strict=True)
        ]

    def _end_reply(self, trace: vf.Trace) -> Reply:
        """Return the final reply of a stopped agent. Raises `SeatStopped` unless its context or a budget is full."""
        if trace.errors:
            raise SeatStopped(
                f"The match broke off: the agent of seat {self._seat} failed with {trace.errors[-1].type}: "
                f"{trace.errors[-1].message}"
            )
        if trace.stop_condition is not None and trace.stop_condition not in BUDGETS:
            raise SeatStopped(
                f"The match broke off: the agent of seat {self._seat} was stopped ({trace.stop_condition}). Raise "
                f"--env.player{self._seat}.timeout.rollout, or remove the stop condition."
            )
        return Reply("", "context")


def write_reply(content: str, calls: Iterable[vf.ToolCall]) -> str:
    """Return tool calls as text in the records' dialect, with other content as thoughts. Calls with invalid arguments
    stay unparsable."""
    thoughts = content.replace("<think>", "").replace("</think>", "").strip()
    return (f"<think>{thoughts}</think>\n" if thoughts else "") + "\n".join(map(_write_call, calls))


def _write_call(call: vf.ToolCall) -> str:
    try:
        arguments = parse_strict_json(call.arguments or "{}")
    except ValueError:
        arguments = call.arguments
    if isinstance(arguments, dict):
        return DIALECT.write([Call(call.name, arguments)])
    return f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': arguments})}\n</tool_call>"
