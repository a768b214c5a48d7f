"""A game of gymposium as an environment of SkyRL-gym, registered as `tic_tac_toe`."""

from pathlib import Path
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

import gymposium
from gymposium.records import RecordWriter

RECORDS = Path("matches.jsonl")
"""The file for match records."""


class TableEnv(BaseTextEnv):
    """One seat of a match, whose conversation grows. `game` comes from the registration, `seed` and `seat` from the
    columns of a row of SkyRL's data set, and `max_turns` from its config."""

    def __init__(self, env_config: Any, extras: dict[str, Any], game: str) -> None:
        super().__init__()
        self.max_turns = extras["max_turns"]
        self.seat = extras["seat"]
        self.table = gymposium.Table(
            game, seats=self.seat, opponents="random", seed=extras["seed"], on_illegal="penalty(0.5,3)"
        )

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Return the row's messages, such as a system prompt, with the first prompt of the match."""
        return [*prompt, *self.prompts()], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        before = self.table.get_return(self.seat)
        self.table.answer(self.seat, action)
        self.turns += 1
        return BaseTextEnvStepOutput(
            observations=self.prompts(),
            reward=self.table.get_return(self.seat) - before,
            done=self.table.over or self.turns >= self.max_turns,
            metadata={},
        )

    def prompts(self) -> ConversationType:
        return [{"role": "user", "content": asked.text} for asked in self.table.asked]

    def get_metrics(self) -> dict[str, Any]:
        readings = [turn.reading for turn in self.table.turns if turn.seat == self.seat]
        failed = len(readings) - readings.count("move")
        return {"over": self.table.over, "replies": len(readings), "failed_replies": failed}

    def close(self) -> None:
        """Write the record of a finished match. SkyRL closes environments in several threads."""
        if self.table.played is not None:
            with RecordWriter(RECORDS, wait=True) as writer:
                writer.write(self.table.played)


skyrl_gym.register(id="tic_tac_toe", entry_point=TableEnv, kwargs={"game": "tic_tac_toe"})


def my_agent(messages: ConversationType) -> str:
    """Return the first legal move, from the prompt's second-to-last line, in place of a model's reply."""
    return str(messages[-1]["content"]).splitlines()[-2].removeprefix("Legal moves: ").split(", ")[0]


def play(env_class: str, extras: dict[str, Any]) -> tuple[ConversationType, list[float], dict[str, Any]]:
    """Play one match like SkyRL's generator, and return the conversation, the rewards and the metrics."""
    with skyrl_gym.make(env_class, env_config={}, extras=extras) as env:
        messages, _ = env.init([{"role": "system", "content": "You play games."}])
        rewards, done = [], False
        while not done:
            reply = my_agent(messages)
            output = env.step(reply)
            messages += [{"role": "assistant", "content": reply}, *output["observations"]]
            rewards.append(output["reward"])
            done = output["done"]
        return messages, rewards, env.get_metrics()


if __name__ == "__main__":
    _, rewards, metrics = play("tic_tac_toe", {"seed": 7, "seat": 0, "max_turns": 20})
    print(f"return {sum(rewards):+.2f}, {metrics}")
