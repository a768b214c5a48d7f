"""The settings of the environment, as verifiers reads them from a command, a file or Python."""

from __future__ import annotations

from typing import Literal, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from gymposium.errors import BadOption, GymposiumError
from gymposium_verifiers.matches import Matches

ID = "gymposium-verifiers"
"""The id of taskset, environment and harness: the distribution's name."""


class ChatHarnessConfig(vf.HarnessConfig):
    """The agents' harness, which has no settings."""


class MatchesConfig(vf.TasksetConfig):
    """The settings of matches, `--env.taskset.*`, validated together."""

    game: str = "tic_tac_toe"
    """Name of a game or world, with its parameters: `goofspiel(num_cards=5)`."""
    opponents: str | list[str] = "random"
    """One player for all other seats, or one for each in order, as a list or as `random,mcts-100`."""
    seats: int | str | list[int] = "each"
    """The seats that agents play: a seat, a list of seats or `0,2`, `all` for self-play, or `each` for every seat in
    turn, with the same seeds."""
    seed: int = Field(0, ge=0)
    """Seed of the first match; the seeds of later matches follow it."""
    prompt: Literal["full", "compact"] = "full"
    """How much a prompt explains."""
    reply: str | None = None
    """The form of replies: `move`, `tags`, `json`, or `tools` for native tool calls. By default `tools` in games with
    tools, and `move` in all other games."""
    on_illegal: str = "forfeit"
    """The policy for replies that are not legal moves: `forfeit`, `retry(2)`, `penalty(0.1,3)`, `random`."""
    reward: str = "returns"
    """The reward, in gymposium's grammar: `returns`, `score`, `clipped(1)`, `weighted(accuracy=1,efficiency=0.2)`."""

    @model_validator(mode="after")
    def _check_matches(self) -> Self:
        try:
            self.matches()
        except GymposiumError as error:
            raise ValueError(str(error)) from error  # pydantic reports no other exceptions
        return self

    def matches(self) -> Matches:
        """Return the matches that these settings describe. Raises `GymposiumError` for invalid settings."""
        return Matches.from_names(
            self.game,
            opponents=self.opponents,
            seats=self.seats,
            seed=self.seed,
            prompt=self.prompt,
            reply=self.reply,
            on_illegal=self.on_illegal,
            reward=self.reward,
        )


def _make_agent() -> vf.AgentConfig:
    """Return the agent of one seat: the run's model, in this process."""
    return vf.AgentConfig(runtime=vf.SubprocessConfig())


class MatchEnvConfig(vf.EnvConfig):
    """The agents of the seats: `--env.player0.*` and so on. An agent plays only if its seat is in the task."""

    player0: vf.AgentConfig = _make_agent()
    player1: vf.AgentConfig = _make_agent()
    player2: vf.AgentConfig = _make_agent()
    player3: vf.AgentConfig = _make_agent()
    player4: vf.AgentConfig = _make_agent()
    player5: vf.AgentConfig = _make_agent()
    player6: vf.AgentConfig = _make_agent()
    player7: vf.AgentConfig = _make_agent()
    player8: vf.AgentConfig = _make_agent()
    player9: vf.AgentConfig = _make_agent()

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        if isinstance(self.taskset, MatchesConfig):
            matches, harnesses = self.taskset.matches(), self.agent_harnesses()
            for role in (f"player{seat}" for seat in sorted(matches.agents)):
                _check_agent(role, harnesses[role], getattr(self, role).runtime, matches)
        return self


def _check_agent(role: str, harness: vf.HarnessConfig, runtime: vf.RuntimeConfig, matches: Matches) -> None:
    """Raise `BadOption` for an agent that cannot play these matches."""
    if isinstance(harness, ChatHarnessConfig):
        if not isinstance(runtime, vf.SubprocessConfig):
            raise BadOption(f"{role}.runtime: the harness runs in this process. Leave runtime.type=subprocess.")
    elif matches.calls_tools:
        raise BadOption(
            f"{role}.harness.id={harness.id}: {matches.game.name} offers tools, which that harness does not pass on. "
            f"Omit the harness, use taskset.id=gymposium-verifiers-tools, or use taskset.reply=tags, which describes "
            f"the tools in the prompt."
        )
