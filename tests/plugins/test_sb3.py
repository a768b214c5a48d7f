"""stable-baselines3 as a plugin: trained policies are saved, loaded without unpickling, and play like
stable-baselines3's own `predict`."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import shutil
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from tests.commands import run_command

from gymposium import load_game, make_player
from gymposium.errors import BadOption, UnknownName
from gymposium.games.protocol import Game
from gymposium.match import GameRefused, MatchJob, MatchResult, play
from gymposium.players.identity import digest_file
from gymposium.players.protocol import Ask, IdentifiedPlayer, MatchContext, Player, Reply, get_repeats
from gymposium.records import RecordWriter, verify_file
from gymposium_sb3 import policy_file
from gymposium_sb3.cli import check_out_path
from gymposium_sb3.player import Sb3Player
from gymposium_sb3.policy_file import NOTE, read_policy, write_note
from gymposium_sb3.training import Settings, evaluate_player, train_policy

DECISIONS = 4096


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a policy for tic-tac-toe briefly, with the function of the real command."""
    path = tmp_path_factory.mktemp("sb3") / "ttt.zip"
    told: list[tuple[int, float]] = []
    assert (
        train_policy(Settings(game="tic_tac_toe", decisions=DECISIONS), path, lambda *now: told.append(now))
        == DECISIONS
    )
    assert [decisions for decisions, _ in told] == list(range(256, DECISIONS + 1, 256))
    assert all(-1.0 <= mean <= 1.0 for _, mean in told)
    return path


def save_untrained_model(path: Path, game: str = "tic_tac_toe", **policy: object) -> MaskablePPO:
    """Save a model as a user's own script does. It is untrained, which makes no difference here."""
    env = gymnasium.make(load_game(game).spec.env_id, observation="tensor", **load_game(game).params)
    model = MaskablePPO("MlpPolicy", env, n_steps=64, seed=3, device="cpu", policy_kwargs=policy or None)
    model.save(path)
    return model


def collect_asks(game: Game, matches: int = 10) -> list[Ask]:
    """Return asks at every decision of random matches, each with a copy of its match."""
    rng, found = random.Random(1), []
    for seed in range(matches):
        match = game.new(seed)
        while seats := match.to_move():
            here = match.fork(random.Random(0))
            found += [MatchContext(here, f"m{seed}", seed).ask(seat) for seat in seats]
            match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in seats})
    return found


def one(game: str, *players: Player, seed: int = 0) -> MatchResult:
    return next(play([MatchJob("m", load_game(game), players, seed)]))


@pytest.mark.parametrize(
    ("game", "policy"),
    [
        ("tic_tac_toe", {}),
        ("kuhn_poker", {"net_arch": [16]}),
        ("connect_four(rows=4,columns=5)", {"net_arch": {"pi": [32, 16, 8], "vf": [8]}}),
        ("leduc_poker", {"activation_fn": torch.nn.ReLU}),
        ("goofspiel(num_cards=4)", {"net_arch": []}),
        ("2048", {"activation_fn": torch.nn.SiLU, "net_arch": [8]}),
    ],
)
def test_player_matches_predict(game: str, policy: dict[str, object], tmp_path: Path) -> None:
    model = save_untrained_model(tmp_path / "own.zip", game, **policy)
    asks = collect_asks(load_game(game))
    replies = Sb3Player(str(tmp_path / "own.zip")).act(asks)
    for ask, reply in zip(asks, replies, strict=True):
        mask = np.zeros(ask.game.num_actions, bool)
        mask[ask.legal_actions] = True
        action, _ = model.predict(ask.tensor(), action_masks=mask, deterministic=True)
        assert reply.text == (ask.legal_moves or [])[ask.legal_actions.index(int(action))]


@pytest.mark.slow
def test_trained_policy_beats_random_and_is_deterministic(trained: Path, tmp_path: Path) -> None:
    game, player = load_game("tic_tac_toe"), make_player(f"sb3:{trained}")
    score = evaluate_player(player, "random", game, Settings(game="tic_tac_toe"), 300, lambda: None)
    assert score.result_rate("win").low > 0.44, "random play wins 0.44 of them"
    assert score.forfeits == 0
    rand = make_player("random")
    for seats in ([player, rand], [rand, player], [player, player]):
        first, again = one("tic_tac_toe", *seats), one("tic_tac_toe", *seats)
        assert first.events == again.events
        assert all(turn.reading == "move" for turn in first.turns)
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        writer.write(one("tic_tac_toe", player, rand))
    assert verify_file(tmp_path / "m.jsonl").problems == []


@pytest.mark.slow
def test_training_is_deterministic_by_seed(trained: Path, tmp_path: Path) -> None:
    def weights(path: Path) -> dict[str, torch.Tensor]:
        with zipfile.ZipFile(path) as archive:
            loaded: dict[str, torch.Tensor] = torch.load(io.BytesIO(archive.read("policy.pth")), weights_only=True)
        return loaded

    settings = Settings(game="tic_tac_toe", decisions=256)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert train_policy(replace(settings, seed=seed), tmp_path / f"{name}.zip") == 256
    a, b, c = (weights(tmp_path / f"{name}.zip") for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_interrupted_training_keeps_its_progress(tmp_path: Path) -> None:
    def interrupt(decisions: int, mean: float) -> None:
        if decisions >= 512:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_policy(Settings(game="tic_tac_toe", decisions=DECISIONS), tmp_path / "early.zip", interrupt)
    assert read_policy(tmp_path / "early.zip").note["decisions"] == 512
    player = make_player(f"sb3:{tmp_path / 'early.zip'}")
    assert one("tic_tac_toe", player, player).ending.seat is None


def test_file_is_native_and_describes_itself(trained: Path) -> None:
    model = MaskablePPO.load(trained, device="cpu")
    assert model.num_timesteps == DECISIONS
    with zipfile.ZipFile(trained) as archive:
        note = json.loads(archive.read(NOTE))
    assert (note["game"], note["game_version"], note["decisions"]) == ("tic_tac_toe", 0, DECISIONS)
    assert (note["opponent"], note["seat"], note["algorithm"]) == ("random", "random", "maskable-ppo")
    assert note["versions"].keys() >= {"gymposium", "stable-baselines3", "torch"}
    assert [p.name for p in trained.parent.iterdir()] == [trained.name], "nothing else is left beside it"


def test_policy_can_be_an_opponent(trained: Path, tmp_path: Path) -> None:
    env = gymnasium.make("TextTicTacToe-v0", opponent=f"sb3:{trained}", seat=1)
    _, info = env.reset(seed=0)
    assert len(info["legal_moves"]) == 8, "it began"
    settings = Settings(game="tic_tac_toe", opponent=f"sb3:{trained}", seat=1, decisions=128)
    assert train_policy(settings, tmp_path / "next.zip") == 128
    again = evaluate_player(
        make_player(f"sb3:{tmp_path / 'next.zip'}"), "random", load_game("tic_tac_toe"), settings, 7, int
    )
    assert again.matches == 7, "one seat was trained for, and there is nothing to share"


@pytest.mark.parametrize("algorithm", ["ppo", "maskable-ppo"])
@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(num_cards=4)", "2048(max_tile=16)", "openspiel:nim"])
def test_other_games_and_plain_ppo_train(game: str, algorithm: str, tmp_path: Path) -> None:
    settings = Settings(game=game, algorithm=algorithm, decisions=64)  # type: ignore[arg-type]
    train_policy(settings, tmp_path / "p.zip")
    player, loaded = make_player(f"sb3:{tmp_path / 'p.zip'}"), load_game(game)
    score = evaluate_player(player, "random", loaded, settings, 4, lambda: None)
    assert (score.matches, score.forfeits) == (4, 0)


def test_refuses_policies_for_other_games(trained: Path, tmp_path: Path) -> None:
    players = [make_player(f"sb3:{trained}"), make_player("random")]
    with pytest.raises(GameRefused, match=r"was trained on tic_tac_toe, so it cannot play kuhn_poker"):
        one("kuhn_poker", *players)
    save_untrained_model(tmp_path / "own.zip")  # without a note, sizes must do
    own = make_player(f"sb3:{tmp_path / 'own.zip'}")
    assert one("tic_tac_toe", own, players[1]).ending.seat is None
    with pytest.raises(
        GameRefused, match="reads 27 numbers and chooses among 9 actions, but kuhn_poker has a tensor of"
    ):
        one("kuhn_poker", own, players[1])
    write_note(tmp_path / "own.zip", load_game("tic_tac_toe"))
    with pytest.raises(BadOption, match="already has a note about its game"):
        write_note(tmp_path / "own.zip", load_game("tic_tac_toe"))
    shutil.copy(trained, tmp_path / "old.zip")
    policy = read_policy(trained)
    with pytest.raises(BadOption, match=r"version 7 of tic_tac_toe, .* Train it again"):
        replace(policy, note={**policy.note, "game_version": 7}).check_game(load_game("tic_tac_toe"))


def test_every_ask_of_a_batch_is_checked(trained: Path) -> None:
    mixed = [*collect_asks(load_game("tic_tac_toe"), 1), *collect_asks(load_game("kuhn_poker"), 1)]
    with pytest.raises(BadOption, match="cannot play kuhn_poker"):
        make_player(f"sb3:{trained}").act(mixed)


def rewrite_zip(path: Path, copy: Path, change: dict[str, bytes]) -> Path:
    """Copy a zip and change some of its members."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, change.get(member, old.read(member)))
    return copy


def test_untrusted_files_run_no_code(trained: Path, tmp_path: Path) -> None:
    """Pickles in `data` are never read, and weights that are anything but weights are refused."""
    import cloudpickle

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    with zipfile.ZipFile(trained) as archive:
        data = json.loads(archive.read("data"))
    data["policy_class"][":serialized:"] = base64.b64encode(cloudpickle.dumps(Bomb())).decode()
    armed = rewrite_zip(trained, tmp_path / "armed.zip", {"data": json.dumps(data).encode()})
    player = make_player(f"sb3:{armed}")
    assert one("tic_tac_toe", player, player).ending.seat is None
    buffer = io.BytesIO()
    torch.save({"action_net.weight": Bomb()}, buffer)
    with pytest.raises(BadOption, match="was not saved by stable-baselines3"):
        read_policy(rewrite_zip(trained, tmp_path / "armed_too.zip", {"policy.pth": buffer.getvalue()}))
    assert not (tmp_path / "ran").exists()
    with pytest.raises(TypeError):
        MaskablePPO.load(armed, device="cpu")
    assert (tmp_path / "ran").exists(), "the bomb is a real one: the library's own loader sets it off"


@pytest.mark.parametrize(
    "change",
    [
        {"action_net.weight": torch.ones(1).expand(100_000, 100_000)},
        {"action_net.weight": torch.empty(100_000, 100_000, device="meta")},
        {"action_net.weight": torch.eye(9, 64).to_sparse()},
        {"action_net.weight": torch.ones(9)},
        {"action_net.weight": torch.full((9, 64), float("nan"))},
        {"action_net.weight": torch.ones(9, 64, dtype=torch.complex64)},
        {"action_net.weight": torch.ones(9, 32)},
        {"action_net.weight": [1.0]},
        {"action_net.bias": None},
        {7: torch.ones(1)},
    ],
    ids=repr,
)
def test_invalid_policy_weights_are_refused(change: dict[Any, Any], trained: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(trained) as archive:
        weights = {**torch.load(io.BytesIO(archive.read("policy.pth")), weights_only=True), **change}
    torch.save({name: value for name, value in weights.items() if value is not None}, kept := io.BytesIO())
    with pytest.raises(BadOption, match=r"its weights (do not belong to an MLP policy|name 'torch)"):
        read_policy(rewrite_zip(trained, tmp_path / "odd.zip", {"policy.pth": kept.getvalue()}))


@pytest.mark.parametrize("member", ["data", "policy.pth", "gymposium.json"])
def test_zip_bombs_are_refused(member: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_file, "MAX_JSON", 2**20)
    monkeypatch.setattr(policy_file, "MAX_WEIGHTS", 2**20)
    with pytest.raises(BadOption, match=f"its member {member} is larger than 1 MiB"):
        read_policy(rewrite_zip(trained, tmp_path / "large.zip", {member: b" " * 2**21}))
    with zipfile.ZipFile(inner := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(2**21))
    with pytest.raises(BadOption, match="its weights are larger than 1 MiB"):
        read_policy(rewrite_zip(trained, tmp_path / "inner.zip", {"policy.pth": inner.getvalue()}))


NESTED = b"".join(b"q" + bytes([n]) + b"h" + bytes([n]) + b"\x86" for n in range(60))
"""Pickle operations that make a pair of the same two pairs, and so on."""
END = struct.pack("<4sQHHLLQQQQ4sLQL4sHHHHLLH", b"PK\6\6", 44, 45, 45, 0, 0, 2**20, 2**20, 46 * 2**20, 0, b"PK\6\7", 0,
    46 * 2**20, 1, b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)  # fmt: skip


@pytest.mark.parametrize(
    ("pickled", "reason"),
    [
        (b"]" * 2**24, "described in more than 256 KiB"),
        (b"}K\1" + NESTED + b"K\1s", "use a container twice"),
        (b"}K\1" + NESTED.replace(b"h", b"2") + b"K\1s", "was not saved by stable-baselines3"),
        (b"cbuiltins\nbytearray\n\x8a\5\0\0\0\0\1\x85R", "name 'builtins bytearray'"),
        (b"ctorch\nTensor\n\x8a\5\0\0\0\0\1\x85R", "name 'torch Tensor'"),
    ],
    ids=["size", "shared", "duplicates", "bytes", "tensor"],
)
@pytest.mark.parametrize("name", ["data.pkl", "DATA.PKL"])
def test_hostile_tensor_descriptions_are_bounded(
    pickled: bytes, reason: str, name: str, trained: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(inner := io.BytesIO(), "w") as archive:
        archive.writestr(f"archive/{name}", b"\x80\2" + pickled + b".")
        archive.writestr("archive/version", "3\n")
    with pytest.raises(BadOption, match=reason):
        read_policy(rewrite_zip(trained, tmp_path / "small.zip", {"policy.pth": inner.getvalue()}))


def test_zips_with_a_million_members_are_refused(trained: Path, tmp_path: Path) -> None:
    many = (b"PK\1\2" + bytes(42)) * 2**20 + END
    (tmp_path / "outer.zip").write_bytes(many)
    for path in (tmp_path / "outer.zip", rewrite_zip(trained, tmp_path / "inner.zip", {"policy.pth": many})):
        with pytest.raises(BadOption, match="it has more than 10,000 members"):
            read_policy(path)


def test_refuses_files_without_a_policy(tmp_path: Path) -> None:
    env = gymnasium.make("TextTicTacToe-v0", observation="tensor")
    DQN("MlpPolicy", env, buffer_size=10, device="cpu").save(tmp_path / "dqn.zip")
    (tmp_path / "text.zip").write_text("not a zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    for name, message in {
        "nowhere.zip": r"There is no file .*gymposium sb3 train",
        "text.zip": "was not saved by stable-baselines3",
        "other.zip": "was not saved by stable-baselines3: .*policy.pth",
        "dqn.zip": r"is not a plain MLP policy with discrete actions \(it holds q_net",
    }.items():
        with pytest.raises(BadOption, match=message):
            make_player(f"sb3:{tmp_path / name}")
    with pytest.raises(UnknownName):
        make_player("sb3:")


class CountingPlayer:
    """Player that forwards asks and counts how many come in one call."""

    def __init__(self, player: Player) -> None:
        self._player, self.calls = player, list[int]()
        self.name, self.reader, self.style = player.name, player.reader, player.style

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self.calls.append(len(asks))
        return self._player.act(asks)


def test_batched_replies_match_single_ones(trained: Path) -> None:
    game, player, rand = load_game("tic_tac_toe"), CountingPlayer(make_player(f"sb3:{trained}")), make_player("random")
    jobs = [MatchJob(f"m{seed}", game, [player, rand], seed) for seed in range(20)]
    together = {played.job.id: played.events for played in play(jobs)}
    assert player.calls[0] == 20
    assert together == {job.id: next(play([job])).events for job in jobs}
    threads = torch.get_num_threads()
    one("tic_tac_toe", player, rand)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "tic_tac_tow"}, "Did you mean 'tic_tac_toe'"),
        ({"game": "trace"}, r"takes free text.*gymposium train --game"),
        ({"seat": 2}, "must be a seat from 0 to 1, or 'random'"),
        ({"seat": "left"}, "must be a seat from 0 to 1, or 'random'"),
        ({"on_illegal": "shrug"}, "Use forfeit, random"),
        ({"opponent": "randon"}, "Did you mean 'random'"),
        ({"opponent": "human"}, "Choose another player"),
        ({"decisions": 63}, "must be at least 64"),
        ({"decisions": 64, "budget": 1.0}, "Give one of them"),
        ({"budget": 0.0}, "more than 0 CPU seconds"),
    ],
)
def test_invalid_settings_are_refused_before_training(change: dict[str, object], message: str) -> None:
    settings = Settings(**{"game": "tic_tac_toe", **change})  # type: ignore[arg-type]
    with pytest.raises((BadOption, UnknownName), match=message):
        settings.check()


@pytest.mark.slow
def test_budget_ends_training_after_an_update(tmp_path: Path) -> None:
    played = train_policy(Settings(game="tic_tac_toe", budget=1e-6), tmp_path / "one.zip")
    assert played == 2048 + 1, "the rollout that had begun, and the frame that ends training"


def test_training_never_exceeds_the_requested_decisions() -> None:
    for decisions, rollout in ((64, 64), (100, 64), (2047, 1984), (2048, 2048), (100_000, 2048)):
        assert Settings(game="tic_tac_toe", decisions=decisions).rollout == rollout


def test_existing_files_are_not_overwritten(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadOption, match="already exists"):
        check_out_path(trained)
    with pytest.raises(BadOption, match=r"Name a file that ends in \.zip"):
        check_out_path(Path("policy"))
    with pytest.raises(BadOption, match="cannot be written"):
        check_out_path(trained / "below.zip")
    monkeypatch.chdir(tmp_path)
    path = check_out_path(None)
    assert path.parent.is_dir()
    assert (path.parent.parent.name, path.parent.name[10:], path.name) == ("gymposium-runs", "-sb3-1", "policy.zip")


@pytest.mark.slow
def test_command_trains_and_evaluates(tmp_path: Path) -> None:
    arguments = ("sb3", "train", "kuhn_poker", "--decisions", "128", "--out", "k.zip", "-n", "20", "--seed", "4")
    done = run_command(*arguments, "--json", folder=tmp_path, env=os.environ, learns=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["player"], found["decisions"], found["opponents"]["random"]["matches"]) == ("sb3:k.zip", 128, 20)
    assert "Saved to k.zip after 128 decisions" in done.stderr
    again = run_command(*arguments, folder=tmp_path, env=os.environ, learns=True)
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert "Traceback" not in again.stderr


def test_policy_is_identified_by_its_file_and_repeatable(trained: Path) -> None:
    player = make_player(f"sb3:{trained}")
    assert isinstance(player, IdentifiedPlayer)
    assert player.identity().files == {str(trained): digest_file(trained)}
    assert get_repeats(player) == "quickly"


@pytest.mark.parametrize("algorithm", [MaskablePPO, PPO, DQN])
def test_text_observations_suggest_tensor(algorithm: type[MaskablePPO | PPO | DQN]) -> None:
    env = gymnasium.make("TextTicTacToe-v0")
    with pytest.raises(BadOption, match=r"cannot learn from text\. Make the environment with observation='tensor'"):
        algorithm("MlpPolicy", env)


class EvilPickle:
    """An object whose unpickling would write a file."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("evil",)


def _load_weights(**tensors: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    return buffer.getvalue()


def test_huge_files_are_refused_before_reading(tmp_path: Path) -> None:
    with (tmp_path / "huge.zip").open("wb") as file:
        file.truncate(8_000_000_000)
    with pytest.raises(BadOption, match="larger than 1,073,741,824 bytes"):
        read_policy(tmp_path / "huge.zip")


_GOOD = {"action_net.weight": torch.zeros(9, 27), "action_net.bias": torch.zeros(9)}
_HIDDEN = {
    "mlp_extractor.policy_net.0.weight": torch.zeros(27, 27),
    "mlp_extractor.policy_net.0.bias": torch.zeros(27),
}
ODD: dict[str, dict[str, bytes]] = {
    "no members": {},
    "no data": {"policy.pth": _load_weights(**_GOOD)},
    "no weights": {"data": b"{}"},
    "absolute names": {"/policy.pth": _load_weights(**_GOOD), "/data": b"{}"},
    "climbing names": {"../policy.pth": _load_weights(**_GOOD), "../data": b"{}"},
    "broken json": {"policy.pth": _load_weights(**_GOOD), "data": b"{"},
    "deep json": {"policy.pth": _load_weights(**_GOOD), "data": b"[" * 100_000},
    "kwargs that are no table": {"policy.pth": _load_weights(**_GOOD | _HIDDEN), "data": b'{"policy_kwargs": [1]}'},
    "truncated weights": {"policy.pth": _load_weights(**_GOOD)[:-200], "data": b"{}"},
    "another class pickled": {"policy.pth": _load_weights(**_GOOD, evil=EvilPickle()), "data": b"{}"},
    "names that are no text": {"policy.pth": _load_weights(**{"action_net.weight": 3}), "data": b"{}"},
    "no bias": {"policy.pth": _load_weights(**{"action_net.weight": torch.zeros(9, 27)}), "data": b"{}"},
    "a flat weight": {"policy.pth": _load_weights(**_GOOD | {"action_net.weight": torch.zeros(9)}), "data": b"{}"},
    "sizes that differ": {"policy.pth": _load_weights(**_GOOD | {"action_net.bias": torch.zeros(2)}), "data": b"{}"},
    "a gigantic member": {"policy.pth": b"\0" * 2048, "data": b"{}"},
}


@pytest.mark.parametrize("members", ODD.values(), ids=ODD)
def test_malformed_zips_name_the_file(
    members: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MAX_JSON", "MAX_WEIGHTS"):
        monkeypatch.setattr(policy_file, limit, 200_000)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content * (1000 if content == b"\0" * 2048 else 1))
    with pytest.raises(BadOption, match=str(path)):
        read_policy(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadOption, match=str(path)):
        read_policy(path)
    assert not (tmp_path / "evil").exists()
