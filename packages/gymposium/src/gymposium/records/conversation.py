"""Conversations of recorded matches: what each seat was shown, and what it replied.

The prompts are rendered again from the replay. A conversation holds the whole history, with the rules in its first
message. A player that read less of it (`context=state`) was shown the same texts in other messages.
"""

from __future__ import annotations

from dataclasses import dataclass

from gymposium.games.protocol import Match, Observation
from gymposium.games.registry import needs_isolation
from gymposium.match import Turn
from gymposium.records.record import Record
from gymposium.records.replay import load_record_game, make_replay_job
from gymposium.records.walk import RecordedReply, replay_decisions
from gymposium.replies.prompt import Prompt, get_prompt
from gymposium.replies.reading import bind_reader, split_thoughts
from gymposium.tasks.tools import Call, Tool, list_tools
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.isolated import call_isolated


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A message to a seat and its reply. A retry is a turn whose message says why the last reply was rejected."""

    prompt: str
    """The user's message."""
    results: tuple[str, ...]
    """The results of the last turn's calls, which replace the user's message; () without such calls."""
    turn: Turn
    """The reply with its reading."""
    content: str
    """The reply's text without its calls."""
    calls: tuple[Call, ...]
    """The tool calls in the reply, if it was read in the form of a chat template's calls."""
    thoughts: str
    """The thoughts in `content`, without delimiters; empty if its reader knows none."""
    answer: str
    """The rest of `content`."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One seat's conversation in a match."""

    tools: tuple[Tool, ...]
    """The tools that the seat's chat template listed; () if the messages describe the tools, or without tools."""
    turns: list[ConversationTurn]


def list_conversations(record: Record) -> list[Conversation]:
    """Replay a match and return each seat's conversation. Raises the errors of `replay_decisions`."""
    return call_isolated(_list_here, record) if needs_isolation(record.game) else _list_here(record)


def _list_here(record: Record) -> list[Conversation]:
    job = make_replay_job(load_record_game(record), record)
    tools = list_tools(job.game)
    prompts = [get_prompt(job.game, p.style, bind_reader(p.reader, tools, job.game.name)) for p in job.players]
    conversations = [Conversation(tools if isinstance(p.reader, ToolsReader) else (), []) for p in prompts]

    def observe(match: Match) -> dict[int, Observation]:
        return {seat: match.observe(seat, prompts[seat].style) for seat in match.to_move()}

    for decision in replay_decisions(record, observe):
        for seat, replies in decision.replies.items():
            turns = conversations[seat].turns
            for reply in replies:
                turns.append(_make_turn(decision.seen[seat], reply, prompts[seat], turns))
    return conversations


def _make_turn(
    observation: Observation, reply: RecordedReply, prompt: Prompt, past: list[ConversationTurn]
) -> ConversationTurn:
    text, how = reply.turn.text, prompt.reader
    parts = how.parts(text) if isinstance(how, ToolsReader) else None
    content, calls = (text, ()) if parts is None else parts
    thoughts, answer = split_thoughts(content, how, is_free_text=observation.legal_moves is None)
    called = past[-1].calls if past and past[-1].turn.reading == "move" else ()
    results = tuple(result.text for result in observation.results) if called else ()
    shown = prompt(observation, reply.reason, rules=not past)
    return ConversationTurn(shown, results, reply.turn, content, calls, thoughts, answer)
