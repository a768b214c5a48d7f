"""Three steps of TRL's trainer on matches: what is played, what TRL receives, and what is recorded."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig

from gymposium.errors import GymposiumError, UnratedGroup, WorldFailure
from gymposium.games.protocol import CHANCE
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records import Record, read_records, verify_file
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.match import compute_score
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_trl import Rollout, rollout as rollout_module
from gymposium_trl.engine import TrainerEngine

from .runs import COPIES, QUIET, RecordingRollout, trainer_for

pytestmark = QUIET


def list_records(path: Path) -> list[Record]:
    return [record for _, record in read_records(path) if isinstance(record, Record)]


def get_weights(trainer: Any) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in trainer.model.parameters() if parameter.requires_grad]


@pytest.mark.parametrize(
    ("game", "opponents", "seats"),
    [
        ("tic_tac_toe", "mcts-10", 0),
        ("goofspiel(num_cards=4)", "greedy", None),
        ("kuhn_poker", "cfr-10", [1]),
        ("leduc_poker", "lm", None),
        ("euchre", ["random", "mcts-2", "random"], [2]),
    ],
)
def test_three_training_steps_complete(
    game: str, opponents: Any, seats: Any, model_directory: Path, tmp_path: Path
) -> None:
    """Simultaneous moves, hidden cards, four seats, and every kind of opponent. Failed replies are replaced by
    random moves, so that a match has several turns."""
    rollout = RecordingRollout(
        game,
        opponents=f"lm:{model_directory}?temperature=1" if opponents == "lm" else opponents,
        prompt="compact",
        max_tokens=4,
        on_illegal="random",
        reward="score",
        records=tmp_path / "matches.jsonl",
    )
    trainer = trainer_for(rollout, model_directory, tmp_path / "run", seats=seats)
    before = get_weights(trainer)
    trainer.train()
    assert trainer.state.global_step == 3
    assert any(not torch.equal(was, now) for was, now in zip(before, get_weights(trainer), strict=True))
    records = list_records(tmp_path / "matches.jsonl")
    assert len(records) == 3 * 2 * COPIES
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (len(records), [])
    learned = [one for _, fields in rollout.given for one in fields["trajectory"] if one is not None]
    assert {one.seat for one in learned} == {*_seats(rollout, seats)}
    assert max(len(one.turns) for one in learned) > (game != "kuhn_poker")
    logged = [entry for entry in trainer.state.log_history if "reward" in entry]
    for entry, (_, fields) in zip(logged, rollout.given, strict=True):
        scores = [compute_score(one) for one in fields["trajectory"] if one is not None]
        assert entry["rewards/reward/mean"] == pytest.approx(sum(scores) / len(scores), abs=1e-6)
        assert entry["match/left_out"] == fields["trajectory"].count(None) / len(fields["trajectory"])
        assert entry["reward/score"] == pytest.approx(entry["reward"], abs=1e-6)


def _seats(rollout: Rollout, seats: Any) -> Sequence[int]:
    return range(rollout.game.seats) if seats is None else [seats] if isinstance(seats, int) else seats


@pytest.mark.parametrize("game", ["guess", "mail"])
def test_three_training_steps_complete_in_a_tool_world(game: str, tool_model: LoadedModel, tmp_path: Path) -> None:
    rollout = RecordingRollout(game, prompt="compact", max_tokens=100, records=tmp_path / "matches.jsonl")
    some = {"rows": 2, "size": 6} if game == "guess" else {"rows": 1, "size": 1}
    trainer = trainer_for(rollout, copy.deepcopy(tool_model), tmp_path / "run", **some)
    before = get_weights(trainer)
    trainer.train()
    learned = [one for _, fields in rollout.given for one in fields["trajectory"]]
    moved = any(not torch.equal(was, now) for was, now in zip(before, get_weights(trainer), strict=True))
    assert moved or game == "mail"  # whose replies may all earn the same
    assert any(len(one.turns) > 1 and one.turns[0].reading == "move" for one in learned)
    tokenizer = trainer.processing_class
    for _, fields in rollout.given:
        for ids, mask, one in zip(fields["completion_ids"], fields["env_mask"], fields["trajectory"], strict=True):
            others = tokenizer.decode([token for token, sampled in zip(ids, mask, strict=True) if not sampled])
            assert others.count("<tool_response>") == len(one.turns) - 1
            own = tokenizer.decode([token for token, sampled in zip(ids, mask, strict=True) if sampled])
            assert "<tool_response>" not in own
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (len(learned), [])


class Spy(TrainerEngine):
    """An engine that notes what it was asked and what it sampled."""

    noted: list[tuple[TokenRequest, Completion]]

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        completions = super().generate(requests, sampling)
        self.noted += zip(requests, completions, strict=True)
        return completions


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TokenRequest, Completion]]:
    """Each request and completion of the engines of the rollouts to come."""
    monkeypatch.setattr(Spy, "noted", [], raising=False)
    monkeypatch.setattr(rollout_module, "TrainerEngine", Spy)
    return Spy.noted


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_rows_hold_read_and_sampled_ids(
    lora: bool, model_directory: Path, tmp_path: Path, noted: list[tuple[TokenRequest, Completion]]
) -> None:
    """Nothing is tokenized twice, and the mask is 1 exactly where a token was sampled. TRL's own log-probabilities of
    the rows are the engine's."""
    rollout = RecordingRollout("tic_tac_toe", prompt="compact", max_tokens=5, on_illegal="random")
    peft = {"peft_config": LoraConfig(r=4, init_lora_weights=False)} if lora else {}
    trainer = trainer_for(rollout, model_directory, tmp_path, temperature=0.7, **peft)
    fields = rollout([trainer.train_dataset[0]["prompt"]] * COPIES, trainer)
    assert len({*map(tuple, fields["completion_ids"])}) > 1
    for number in range(COPIES):
        name = f"{fields['trajectory'][number].match}/0"
        turns = [(request.prompt, completion) for request, completion in noted if request.conversation == name]
        ids = fields["prompt_ids"][number] + fields["completion_ids"][number]
        mask = [0] * len(fields["prompt_ids"][number]) + fields["env_mask"][number]
        last, sampled = turns[-1]
        assert ids == [*last, *sampled.ids]
        assert fields["prompt_ids"][number] == [*turns[0][0]]
        expected = [0] * len(ids)
        for prompt, completion in turns:
            assert ids[: len(prompt)] == [*prompt]
            expected[len(prompt) : len(prompt) + len(completion.ids)] = [1] * len(completion.ids)
        assert mask == expected
        assert sum(mask) == sum(len(completion.ids) for _, completion in turns)
        row = torch.tensor([ids])
        with torch.no_grad():
            scores = trainer._get_per_token_logps_and_entropies(
                trainer.model, row, torch.ones_like(row), len(fields["completion_ids"][number])
            )[0][0]
        engine = torch.tensor(fields["logprobs"][number])
        real = torch.tensor(fields["env_mask"][number]).bool()
        torch.testing.assert_close(engine[real], scores[real], rtol=0, atol=1e-5)
        assert not engine[~real].any()


def test_trl_padding_and_masks_match_the_rows(model_directory: Path, tmp_path: Path) -> None:
    rollout = RecordingRollout("leduc_poker", prompt="compact", max_tokens=4, on_illegal="random")
    trainer = trainer_for(rollout, model_directory, tmp_path)
    rows = [{**row} for row in trainer.train_dataset.select(range(2)) for _ in range(COPIES)]
    inputs = trainer._generate_and_score_completions(rows)
    [(_, fields)] = rollout.given
    for number, completion in enumerate(fields["completion_ids"]):
        real = inputs["completion_mask"][number].bool()
        assert inputs["completion_ids"][number][real].tolist() == completion
        assert inputs["tool_mask"][number][real].tolist() == fields["env_mask"][number]
        assert (
            inputs["prompt_ids"][number][inputs["prompt_mask"][number].bool()].tolist() == fields["prompt_ids"][number]
        )


def test_row_copies_share_a_deal_but_not_replies(model_directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    rollout = RecordingRollout("leduc_poker", prompt="compact", max_tokens=4, on_illegal="random", records=path)
    trainer_for(rollout, model_directory, tmp_path / "run", max_steps=1).train()
    records = list_records(path)
    by_id = {record.id: record for record in records}
    for start in (0, COPIES):
        prompts, fields = rollout.given[0]
        group = [by_id[one.match] for one in fields["trajectory"][start : start + COPIES]]
        assert len({prompts[start]}) == 1 == len({record.seed for record in group})
        assert len({record.player_seed for record in group} | {record.seed for record in group}) == COPIES + 1
        dealt = [[event.move for event in record.events if event.seat == CHANCE][:2] for record in group]
        assert all(one == other for one, other in pairwise(dealt))
        assert len({tuple(turn["text"] for turn in record.turns) for record in group}) > 1


def test_equal_seeds_give_equal_matches_and_weights(model_directory: Path, tmp_path: Path) -> None:
    ends = []
    for name in ("a", "b"):
        torch.manual_seed(len(ends))  # the global generator is of no account
        path = tmp_path / f"{name}.jsonl"
        rollout = Rollout("kuhn_poker", opponents="mcts-5", prompt="compact", max_tokens=4, records=path)
        trainer = trainer_for(rollout, model_directory, tmp_path / name)
        trainer.train()
        ends.append(([(record.id, record.seed, record.events) for record in list_records(path)], get_weights(trainer)))
    assert ends[0][0] == ends[1][0]
    assert all(torch.equal(one, other) for one, other in zip(ends[0][1], ends[1][1], strict=True))


def test_batches_and_evaluations_play_separate_matches(model_directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    rollout = Rollout("kuhn_poker", prompt="compact", max_tokens=4, records=path)
    trainer = trainer_for(
        rollout,
        model_directory,
        tmp_path / "run",
        eval_dataset=rollout.dataset(4, seed=9),
        per_device_train_batch_size=COPIES,
        gradient_accumulation_steps=2,
        steps_per_generation=1,
        num_generations_eval=1,
        max_steps=1,
    )
    trainer.train()
    metrics = trainer.evaluate()
    assert {"eval_reward", "eval_match/turns"} <= metrics.keys()
    names = [record.id for record in list_records(path)]
    assert len(names) == len({*names}) == 2 * COPIES + 4
    assert {name.rpartition("-")[0] for name in names} == {"train-0-0-0", "train-0-1-0", "eval-1-0-0"}


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_bfloat16_and_gradient_checkpointing_work(lora: bool, model_directory: Path, tmp_path: Path) -> None:
    """The precision of the engine is that in which the trainer computes."""
    rollout = RecordingRollout("kuhn_poker", prompt="compact", max_tokens=4, on_illegal="random")
    peft = {"peft_config": LoraConfig(r=4)} if lora else {}
    trainer = trainer_for(rollout, model_directory, tmp_path, bf16=True, gradient_checkpointing=True, **peft)
    trainer.train()
    assert trainer.model.training
    dtypes = set[torch.dtype]()
    layer = next(module for name, module in trainer.model.named_modules() if name.endswith("lm_head"))
    layer.register_forward_hook(lambda module, given, output: dtypes.add(output.dtype))
    rollout([trainer.train_dataset[0]["prompt"]] * COPIES, trainer)
    assert dtypes == {torch.bfloat16}


class LeavingPlayer(RandomPlayer):
    """An opponent that gives up at once in one seat, and plays at random in the other."""

    name = "leaver"

    def __init__(self, seat: int) -> None:
        self.leaves = seat

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = super().act(asks)
        return [Reply("", "context") if ask.seat == self.leaves else reply for ask, reply in zip(asks, replies)]


@pytest.mark.parametrize("seat", [0, 1], ids=["before the model is asked", "after its first reply"])
def test_opponent_forfeits_are_dropped(seat: int, model_directory: Path, tmp_path: Path) -> None:
    rollout = RecordingRollout(
        "kuhn_poker", opponents=LeavingPlayer(seat), prompt="compact", max_tokens=4, on_illegal="random"
    )
    trainer = trainer_for(rollout, model_directory, tmp_path, max_steps=1)
    rewards: list[Any] = []

    def kept(**fields: Any) -> list[float | None]:
        rewards.extend(rollout.reward(**fields))
        return rewards

    trainer.reward_funcs = [kept]
    trainer.train()
    [(prompts, fields)] = rollout.given
    assert {"seat 0" in prompt for prompt in prompts} == {True, False}
    for prompt, reward, one, mask in zip(prompts, rewards, fields["trajectory"], fields["env_mask"], strict=True):
        left_out = f"seat {1 - seat}" in prompt
        assert (reward is None) == (one is None) == (sum(mask) == 0) == left_out
    [entry] = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert entry["match/left_out"] == 0.5


def test_matches_with_broken_tools_are_dropped(
    guess: str, tool_model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world: Any = sys.modules["guess_world"].World
    call, calls = world.call, count()

    async def breaking(self: Any, one: Any) -> Any:
        if next(calls) % 3 == 0:
            raise WorldFailure("The tool is away.")
        return await call(self, one)

    monkeypatch.setattr(world, "call", breaking)
    path = tmp_path / "matches.jsonl"
    rollout = RecordingRollout(guess, prompt="compact", max_tokens=60, records=path)
    trainer = trainer_for(rollout, copy.deepcopy(tool_model), tmp_path / "run", max_steps=1)
    trainer.train()
    [(_, fields)] = rollout.given
    broken = [record.ending.broke_off for record in list_records(path)]
    assert 0 < broken.count(True) == fields["trajectory"].count(None) < len(broken)
    for one, mask in zip(fields["trajectory"], fields["env_mask"], strict=True):
        assert (sum(mask) == 0) == (one is None)


def test_unrated_groups_are_dropped(model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a judge that fails for one group."""

    def rate(group: Sequence[Trajectory]) -> list[Reward]:
        if group[0].seat == 0:
            raise UnratedGroup("the judge is away")
        return [Reward(float(number)) for number, _ in enumerate(group)]

    monkeypatch.setattr(rollout_module, "make_reward", lambda text: CheckedReward(text, rate))
    rollout = RecordingRollout("leduc_poker", prompt="compact", max_tokens=4, on_illegal="random")
    trainer = trainer_for(rollout, model_directory, tmp_path)
    rows = [trainer.train_dataset[number]["prompt"] for number in (0, 1) for _ in range(COPIES)]
    trajectories = rollout(rows, trainer)["trajectory"]
    with pytest.warns(UserWarning, match=r"could not be rated\. The group was not rated: the judge is away\.$"):
        rewards = rollout.reward(rows, trajectories, lambda name, value: None)
    assert rewards == [None] * COPIES + [0.0, 1.0, 2.0, 3.0]


def test_custom_reward_functions_get_trajectories(model_directory: Path, tmp_path: Path) -> None:
    seen: list[Any] = []

    def short(trajectory: list[Trajectory | None], **fields: Any) -> list[float]:
        seen.extend(trajectory)
        return [0.0 if one is None else -float(len(one.turns)) for one in trajectory]

    rollout = Rollout("tic_tac_toe", prompt="compact", max_tokens=4, on_illegal="random", reward="clipped(1)")
    trainer = trainer_for(
        rollout, model_directory, tmp_path, reward_funcs=[rollout.reward, short], reward_weights=[1.0, 0.1], max_steps=1
    )
    trainer.train()
    [entry] = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert entry["rewards/short/mean"] == pytest.approx(-sum(len(one.turns) for one in seen) / len(seen))
    assert entry["reward"] == pytest.approx(entry["rewards/reward/mean"] + 0.1 * entry["rewards/short/mean"])


def test_too_long_first_prompt_is_an_error(model_directory: Path, tmp_path: Path) -> None:
    loaded = load_model(model_directory)
    loaded.model.config.max_position_embeddings = 20
    rollout = Rollout("tic_tac_toe", prompt="full", max_tokens=4)
    trainer = trainer_for(rollout, loaded, tmp_path)
    with pytest.raises(GymposiumError, match=r"The first prompt of match train-0-0-0-0 has \d+ tokens.*prompt=compact"):
        trainer.train()


def test_matches_filling_the_context_are_kept(model_directory: Path, tmp_path: Path) -> None:
    loaded = load_model(model_directory)
    rollout = RecordingRollout("tic_tac_toe", prompt="compact", max_tokens=4, on_illegal="random")
    trainer = trainer_for(rollout, loaded, tmp_path)
    [first, *_] = rollout([trainer.train_dataset[0]["prompt"]] * COPIES, trainer)["prompt_ids"]
    loaded.model.config.max_position_embeddings = len(first) + 40
    fields = rollout([trainer.train_dataset[0]["prompt"]] * COPIES, trainer)
    assert any(one.truncated for one in fields["trajectory"])
    assert all(
        len(prompt) + len(ids) <= len(first) + 40
        for prompt, ids in zip(fields["prompt_ids"], fields["completion_ids"], strict=True)
    )
