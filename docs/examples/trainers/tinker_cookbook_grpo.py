"""One step of tinker-cookbook's own training loop on tic-tac-toe against random play.

python tinker_cookbook_grpo.py, with a key of the service in TINKER_API_KEY.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import chz
import tinker
from tinker_cookbook.renderers import Renderer, get_renderer, get_text_content
from tinker_cookbook.rl import train
from tinker_cookbook.rl.types import (
    Action,
    ActionExtra,
    Env,
    EnvGroupBuilder,
    Metrics,
    RLDataset,
    RLDatasetBuilder,
    StepResult,
    Trajectory,
)
from tinker_cookbook.tokenizer_utils import get_tokenizer

import gymposium
from gymposium.players.protocol import Reply
from gymposium.records import RecordWriter


@dataclass
class TableEnv(Env):
    """One seat of a match. Each decision is a separate conversation whose prompt contains all that the seat may
    know."""

    table: gymposium.Table
    seat: int
    renderer: Renderer

    async def initial_observation(self) -> tuple[tinker.ModelInput, list[str] | list[int]]:
        return self.prompt(), self.renderer.get_stop_sequences()

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        message, _ = self.renderer.parse_response(action)
        cut_off = (extra or {}).get("stop_reason") == "length"
        before = self.table.get_return(self.seat)
        self.table.answer(self.seat, Reply(get_text_content(message), "length" if cut_off else "stop"))
        return StepResult(
            reward=self.table.get_return(self.seat) - before,
            episode_done=self.table.over,
            next_observation=self.prompt(),
            next_stop_condition=self.renderer.get_stop_sequences(),
        )

    def prompt(self) -> tinker.ModelInput:
        if self.table.over:
            return tinker.ModelInput.empty()
        [asked] = self.table.asked
        return self.renderer.build_generation_prompt([{"role": "user", "content": asked.text}])


@chz.chz
class TableGroups(RLDatasetBuilder):
    """Settings of the matches, and the file for their records."""

    model_name: str
    renderer_name: str
    records: Path
    steps: int = 1
    groups: int = 16
    size: int = 8
    on_illegal: str = "penalty(0.5,3)"

    async def __call__(self) -> tuple["TableDataset", None]:
        return TableDataset(self), None


@dataclass
class TableGroup(EnvGroupBuilder):
    """Matches with the same seed and seat. Their opponents draw different moves."""

    given: TableGroups
    seed: int

    async def make_envs(self) -> Sequence[Env]:
        renderer = get_renderer(self.given.renderer_name, get_tokenizer(self.given.model_name))
        seat = self.seed % 2
        return [
            TableEnv(
                gymposium.Table(
                    "tic_tac_toe",
                    seats=seat,
                    opponents="random",
                    seed=self.seed,
                    player_seed=1000 * self.seed + member,
                    on_illegal=self.given.on_illegal,
                    match_id=f"{self.seed}-{member}",
                ),
                seat,
                renderer,
            )
            for member in range(self.given.size)
        ]

    async def compute_group_rewards(
        self, trajectories: list[Trajectory], envs: Sequence[Env]
    ) -> list[tuple[float, Metrics]]:
        """Write the records. All rewards have already been given by the steps."""
        with RecordWriter(self.given.records) as writer:
            for env in envs:
                writer.write(env.table.played)
        return [(0.0, {}) for _ in trajectories]


@dataclass
class TableDataset(RLDataset):
    """A batch of groups for each step, with seeds that are unique to the step."""

    given: TableGroups

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        first = index * self.given.groups
        return [TableGroup(self.given, first + number) for number in range(self.given.groups)]

    def __len__(self) -> int:
        return self.given.steps


def config(groups: TableGroups, out: Path, base_url: str | None = None) -> train.Config:
    """Return the settings for a tinker-cookbook run."""
    return train.Config(
        model_name=groups.model_name,
        renderer_name=groups.renderer_name,
        recipe_name="gymposium",
        dataset_builder=groups,
        learning_rate=4e-5,
        max_tokens=8,
        eval_every=0,
        save_every=0,
        log_path=str(out),
        base_url=base_url,
    )


if __name__ == "__main__":
    out = Path("runs/tinker-cookbook")
    groups = TableGroups(
        model_name="Qwen/Qwen3-8B", renderer_name="qwen3_disable_thinking", records=out / "matches.jsonl"
    )
    asyncio.run(train.main(config(groups, out)))
