"""Output, files and exit codes of each verb."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import Record, read_records, verify_file
from gymposium.util.streams import stream

Run = Callable[..., subprocess.CompletedProcess[str]]
HERE = ("--out", "here")
RECORD = "here/matches.jsonl"


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_json(done: subprocess.CompletedProcess[str]) -> Any:
    """The data on stdout, which must be JSON only."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=refuse)


def records(path: Path) -> list[Record]:
    found = [item for _, item in read_records(path)]
    assert all(isinstance(item, Record) for item in found)
    return [item for item in found if isinstance(item, Record)]


def test_list_verb(gymposium: Run) -> None:
    data = parse_json(gymposium("list", "--json"))
    goofspiel = next(game for game in data["games"] if game["name"] == "goofspiel")
    assert goofspiel["env_id"] == "TextGoofspiel-v0"
    assert goofspiel["information"] == "imperfect"
    assert "mcts-N" in [player["form"] for player in data["players"]]
    assert [reward["name"] for reward in data["rewards"]][:4] == ["returns", "score", "clipped", "weighted"]
    text = gymposium("list").stdout
    assert "weighted(CRITERION=WEIGHT,...)" in text
    for game in data["games"]:
        hidden = " +yes" if game["information"] == "imperfect" else ""
        seats = "[0-9] to [0-9]" if "players" in game["parameters"] else game["seats"]
        assert re.search(rf"{game['name']} +{game['env_id']} +{game['family']} +{seats}{hidden} +[A-Z0-9]", text)


def test_table_row_is_one_line_in_a_pipe(gymposium: Run) -> None:
    lines = gymposium("list", env={"COLUMNS": ""}).stdout.splitlines()
    assert max(map(len, lines)) > 80
    [row] = [line for line in lines if "TextUltimateTicTacToe-v0" in line]
    assert row.rstrip().endswith("Ultimate Tic-tac-toe")


LONG = """
from gymposium import GameSpec, hookimpl

@hookimpl
def gymposium_games():
    yield GameSpec(name="a_game_with_a_long_name", title="A game", summary="A.", entry_point="long:g", namespace="me")
"""


def test_listed_names_stay_whole_in_a_narrow_terminal(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG)
    narrow = {"COLUMNS": "80"}
    text = gymposium("--plugin", "long.py", "list", env=narrow).stdout
    assert "me/TextAGameWithALongName-v0" in text
    for told in (text, gymposium("--plugin", "long.py", "plugins", "list", env=narrow).stdout):
        assert "…" not in told
        assert max(map(len, told.splitlines())) <= 80


def test_info_shows_rules_parameters_and_a_turn_per_seat(gymposium: Run) -> None:
    text = gymposium("info", "goofspiel(num_cards=4)").stdout
    assert "goofspiel(num_cards=4)" in text
    assert "from 2 to 16" in text
    assert "one of random, ascending, descending" in text
    assert text.count("Legal moves: bid 1, bid 2, bid 3, bid 4") == 2
    data = parse_json(gymposium("info", "kuhn_poker", "--style", "compact", "--reply", "tags", "--json"))
    assert data["utility_range"] == [-2.0, 2.0]
    assert [parameter["name"] for parameter in data["parameters"]] == ["disguise"]
    assert ["act first" in data["prompts"][0], "act second" in data["prompts"][1]] == [True, True]
    assert all(prompt.endswith("<think>...</think><move>...</move>") for prompt in data["prompts"])
    [cards, *_] = parse_json(gymposium("info", "goofspiel(num_cards=4)", "--json"))["parameters"]
    assert (cards["value"], cards["default"], cards["low"], cards["high"]) == (4, 13, 2, 16)


def test_info_of_any_openspiel_game(gymposium: Run) -> None:
    done = gymposium("info", "openspiel:nim")
    assert done.returncode == 0
    assert "none" in done.stdout


def test_run_prints_scores_and_records_every_match(gymposium: Run, tmp_path: Path) -> None:
    arguments = ["run", "tic_tac_toe", "--players", "mcts-20,random", "-n", "21", "--seed", "3"]
    done = gymposium(*arguments, *HERE)
    assert done.returncode == 0, done.stderr
    assert f"Recorded in {RECORD}" in done.stderr
    first = records(tmp_path / RECORD)
    assert len(first) == 21
    again = parse_json(gymposium(*arguments, "--json", "--out", "again"))
    assert (tmp_path / "again" / "matches.jsonl").read_bytes() == (tmp_path / RECORD).read_bytes()
    mcts, rand = again["players"]
    assert (mcts["player"], rand["player"], mcts["matches"]) == ("mcts-20", "random", 21)
    wins = sum(record.results[record.players.index("mcts-20")] == "win" for record in first)
    assert mcts["results"]["win"][0] == pytest.approx(wins / 21)
    assert mcts["results"]["win"][0] == rand["results"]["loss"][0]
    assert mcts["return"][0] == pytest.approx(-rand["return"][0])
    low, high = mcts["results"]["win"][1:]
    assert 0 <= low < wins / 21 < high <= 1
    assert f"win {wins / 21:.3f} [{low:.3f}, {high:.3f}]" in " ".join(done.stdout.split())
    other = parse_json(gymposium(*arguments[:-1], "4", "--json"))
    assert len(records(Path(tmp_path, other["record"]))) == 21
    assert other["players"] != again["players"]


@pytest.mark.parametrize(("seats", "matches"), [(3, 102), (4, 100), (5, 100)])
def test_run_gives_each_player_each_seat_equally_often(gymposium: Run, seats: int, matches: int) -> None:
    game = f"universal_poker(players={seats})"
    done = gymposium("run", game, "--players", ",".join(["random"] * seats), "--json")
    assert json.loads(done.stdout)["matches"] == matches


def test_run_is_identical_in_both_schedules(gymposium: Run, tmp_path: Path) -> None:
    arguments = ["run", "leduc_poker", "--players", "mcts-5,random", "-n", "20", "--out"]
    lines = []
    for schedule in ("rounds", "streaming"):
        done = gymposium(*arguments, schedule, "--schedule", schedule)
        assert done.returncode == 0, done.stderr
        lines.append(sorted(record.line() for record in records(tmp_path / schedule / "matches.jsonl")))
    assert lines[0] == lines[1]
    refused = gymposium(*arguments, "m", "--schedule", "stream")
    assert refused.returncode == 2
    assert "Unknown schedule='stream'. Use rounds or streaming." in refused.stderr


def test_run_swaps_seats_and_shares_the_deal(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "kuhn_poker", "--players", "mcts-5,random", "-n", "6", "--seed", "1", *HERE)
    by_number = {int(record.id.rsplit("-", 1)[1]): record for record in records(tmp_path / RECORD)}
    for number, record in by_number.items():
        assert record.players == (["mcts-5", "random"] if number % 2 == 0 else ["random", "mcts-5"])
        assert record.seed == stream(1, "deal", number // 2).getrandbits(48)
        deal = [event for event in record.events if event.seat == -1]
        assert deal == [event for event in by_number[number ^ 1].events if event.seat == -1]
    assert len({record.player_seed for record in by_number.values()}) == 6
    gymposium("run", "kuhn_poker", "--players", "mcts-5,random", "-n", "4", "--no-swap", "--out", "fixed")
    fixed = records(tmp_path / "fixed" / "matches.jsonl")
    assert {tuple(record.players) for record in fixed} == {("mcts-5", "random")}
    assert len({record.seed for record in fixed}) == 4


def test_one_match_is_singular(gymposium: Run) -> None:
    for verb in (["run", "2048", "--players", "random"], ["eval", "random", "--game", "2048"]):
        done = gymposium(*verb, "-n", "1")
        assert done.returncode == 0, done.stderr
        assert "1 match, seed" in done.stdout
        assert "1 matches" not in done.stdout + done.stderr


def test_run_of_one_match_has_no_interval_in_json(gymposium: Run) -> None:
    data = parse_json(gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "1", "--json", *HERE))
    assert data["players"][0]["return"][1:] == [None, None]
    again = gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "1", "--out", "again")
    assert "[–, –]" in again.stdout


def test_failed_replies_are_counted_separately(gymposium: Run, stutter: str, tmp_path: Path) -> None:
    arguments = ["--plugin", stutter, "run", "tic_tac_toe", "--players", "stutter,random", "-n", "30"]
    [bad, good] = parse_json(gymposium(*arguments, "--json", *HERE))["players"]
    counts = bad["counts"]["readings"]
    assert counts["illegal"] > 0
    assert counts["unparsable"] > 0
    assert bad["counts"]["forfeits"] > 0
    assert good["readings"]["illegal"][0] == good["readings"]["unparsable"][0] == good["counts"]["forfeits"] == 0
    played = records(tmp_path / RECORD)
    assert sum(record.ending.seat is not None for record in played) == bad["counts"]["forfeits"]
    for policy in ("retry(3)", "penalty(0.5,20)", "random"):
        done = gymposium(*arguments, "--on-illegal", policy, "--out", policy, "--json")
        assert parse_json(done)["players"][0]["counts"]["forfeits"] == 0
    assert verify_file(tmp_path / "retry(3)" / "matches.jsonl").problems == []


LONG_WINDED = '''
"""A player whose replies are cut off from its second one on."""
from gymposium import OpponentSpec, hookimpl
from gymposium.players.protocol import Reply
from gymposium.replies.reading import READERS


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="long", form="long", pattern="long", summary="L.", entry_point="long:Long")


class Long:
    name, reader, style, deterministic = "long", READERS["move"], "compact", True

    def act(self, asks):
        return [Reply(ask.legal_moves[0], "length" if ask.turn else "stop") for ask in asks]
'''


def test_cut_off_replies_name_the_option_to_raise(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG_WINDED)
    done = gymposium("--plugin", "long.py", "run", "tic_tac_toe", "--players", "long,long", "-n", "2", *HERE)
    assert done.stderr.count("long: 2 of 6 replies were cut off. Raise max_tokens.") == 1
    assert " ".join(done.stderr.split()).count("tic_tac_toe, long: nothing in these matches is random.") == 1
    text = gymposium("replay", RECORD).stdout
    assert text.count("Seat 0 (long) gave no legal move (its reply was cut off: raise max_tokens) and forfeits.") == 2
    done = gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "2", "--out", "random")
    assert "cut off" not in done.stderr
    assert "drawn at random" not in done.stderr


@pytest.mark.parametrize(("withheld", "says"), [(1, "long: 1 of 6 replies was cut off. Raise max_tokens."), (2, "")])
def test_withheld_replies_do_not_blame_the_token_limit(
    gymposium: Run, tmp_path: Path, withheld: int, says: str
) -> None:
    (tmp_path / "long.py").write_text(f"{LONG_WINDED}\n    withheld = {withheld}\n")
    done = gymposium("--plugin", "long.py", "run", "tic_tac_toe", "--players", "long,long", "-n", "2", *HERE)
    assert done.stderr.count("cut off") == done.stderr.count("Raise max_tokens") == bool(says)
    assert says in done.stderr


SAYING = """
from gymposium import OpponentSpec, hookimpl
from gymposium.players.protocol import Reply
from gymposium.replies.reading import GENERAL


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="saying", form="saying", pattern="saying", summary="S.", entry_point="saying:Saying")


class Saying:
    name, reader, style = "saying", GENERAL[{reader!r}], "full"

    def act(self, asks):
        return [Reply({text!r}.replace("MOVE", ask.legal_moves[0]), {finish!r}) for ask in asks]
"""


@pytest.mark.parametrize(
    ("reader", "text", "finish", "says"),
    [
        (
            "tags",
            "I \x1b[31mthink <move>MOVE</move>",
            "stop",
            "such as “I ␛[31mthink <move>a3</move>”: reading=lenient, an option of language models, finds a move in 2",
        ),
        (
            "move",
            "**MOVE**",
            "stop",
            "such as “**a3**”: reading=lenient, an option of language models, finds a move in 2",
        ),
        ("move", "Move: MOVE", "stop", "finds a move in 2 of them"),
        ("tags", "I think <move>the centre</move>", "stop", "ask a language model for another form"),
        (
            "tags-lenient",
            "<move>a1</move> or\n<move>b2</move>",
            "stop",
            "such as “<move>a1</move> or <move>b2</move>”: ask a language model for another form, with reply=tags",
        ),
        ("move", "word " * 9_000 + "the end", "stop", "word the end”: ask"),
        ("move", "", "stop", "such as an empty one: they hold no text, so another form of reply does not help"),
        ("tags", "So a1, or not? " * 50, "length", "2 of 2 replies were cut off, 2 of them in a loop that repeats"),
        ("tags", "<think>So a1.", "length", "2 of 2 replies were cut off. Raise max_tokens."),
    ],
)
def test_failed_replies_are_shown_with_advice(
    gymposium: Run, tmp_path: Path, reader: str, text: str, finish: str, says: str
) -> None:
    (tmp_path / "saying.py").write_text(SAYING.format(reader=reader, text=text, finish=finish))
    done = gymposium("--plugin", "saying.py", "run", "tic_tac_toe", "--players", "saying,saying", "-n", "2", *HERE)
    told = " ".join(done.stderr.split())
    assert says in told
    assert len(told) < 900
    assert "\x1b" not in done.stderr


def test_repaired_replies_are_counted_and_shown(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text(
        SAYING.format(reader="tags-lenient", text="I think <move>MOVE</move>", finish="stop")
    )
    done = gymposium("--plugin", "saying.py", "run", "tic_tac_toe", "--players", "saying,random", "-n", "2", *HERE)
    turns = [turn for record in records(tmp_path / RECORD) for turn in record.turns]
    repaired = sum("repaired" in turn for turn in turns)
    assert repaired > 0
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["repaired"]]
    assert (row[1], row[4]) == ("1.000", "0.000")
    assert "unparsable, such as" not in done.stderr
    assert "Repaired: text." in gymposium("replay", RECORD).stdout
    assert gymposium("verify", RECORD).returncode == 0


def test_replay_shows_failed_replies_without_terminal_escapes(gymposium: Run, stutter: str, tmp_path: Path) -> None:
    arguments = ["--plugin", stutter, "run", "tic_tac_toe", "--players", "stutter,random", "-n", "6"]
    gymposium(*arguments, "--on-illegal", "retry(3)", *HERE)
    done = gymposium("replay", RECORD)
    assert done.returncode == 0, done.stderr
    assert ": illegal." in done.stdout
    assert ": unparsable." in done.stdout
    assert "[bold]" in done.stdout
    assert "\x1b" not in done.stdout
    data = json.loads((tmp_path / RECORD).read_text().splitlines()[0])
    data["id"], data["players"][0] = "\x1b[2Jmatch", "\x1b]0;title\x07"
    (tmp_path / "steering.jsonl").write_text(json.dumps(data) + "\n")
    done = gymposium("replay", "steering.jsonl")
    assert "␛[2Jmatch" in done.stdout
    assert "\x1b" not in done.stdout
    gymposium(*arguments, "--out", "forfeits")
    text = gymposium("replay", "forfeits/matches.jsonl").stdout
    forfeits = [record.ending.seat for record in records(tmp_path / "forfeits" / "matches.jsonl")]
    assert text.count(" forfeits.") == len(forfeits) - forfeits.count(None) > 0


@pytest.mark.parametrize(
    "game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "openspiel:hex(board_size=3)"]
)
def test_replay_shows_observations_and_moves(gymposium: Run, tmp_path: Path, game: str) -> None:
    """All events in order, and at each move the position as its seat sees it."""
    gymposium("run", game, "--players", "random,random", "-n", "3", *HERE)
    shown = parse_json(gymposium("replay", RECORD, "--json"))["matches"]
    from gymposium import load_game

    for match, record in zip(shown, records(tmp_path / RECORD), strict=True):
        steps = [(-1 if step["seat"] is None else step["seat"], step["move"]) for step in match["steps"]]
        assert steps == [tuple(event) for event in record.events]
        live = load_game(game).new(record.seed)
        moves = [step for step in match["steps"] if step["seat"] is not None]
        while seats := live.to_move():
            now, moves = moves[: len(seats)], moves[len(seats) :]
            assert [step["position"] for step in now] == [live.observe(seat).text for seat in seats]
            assert [step["replies"] for step in now] == [[{"reading": "move", "text": s["move"]}] for s in now]
            live.apply({step["seat"]: step["move"] for step in now})
        assert match["end"] == {str(seat): live.observe(seat).text for seat in (0, 1)}
        assert match["returns"] == list(live.returns())


def test_replay_of_a_world_shows_task_and_results_once(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "tables(rows=20)", "--players", "tables-expert", "-n", "1", "--out", "here")
    text = gymposium("replay", "here").stdout
    [record] = records(tmp_path / "here" / "matches.jsonl")
    assert text.count("task: {") == 1
    assert "chance" not in text
    for event in record.events[2::2]:
        [result] = json.loads(event.move)["results"]
        assert text.count(result["text"]) == 1


def test_replay_of_one_seat_hides_the_other(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "kuhn_poker", "--players", "random,random", "-n", "1", *HERE)
    [record] = records(tmp_path / RECORD)
    cards = ["JQK"[int(event.move[-1])] for event in record.events if event.seat == -1]
    text = gymposium("replay", RECORD, "--match", "1", "--seat", "1").stdout
    assert f"Your card: {cards[1]}." in text
    assert f"Your card: {cards[0]}." not in text
    assert "chance" not in text
    assert "Seat 0 sees" not in text
    assert "--seat 2: match" in gymposium("replay", RECORD, "--seat", "2").stderr


def test_replay_finds_a_match_by_number_or_id(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "4", *HERE)
    ids = [record.id for record in records(tmp_path / RECORD)]
    assert [match["id"] for match in parse_json(gymposium("replay", RECORD, "--json"))["matches"]] == ids
    for number, name in enumerate(ids, start=1):
        for match in (str(number), name):
            [found] = parse_json(gymposium("replay", RECORD, "--match", match, "--json"))["matches"]
            assert found["id"] == name
    done = gymposium("replay", RECORD, "--match", "5")
    assert done.returncode == 2
    assert "has 4" in done.stderr
    assert gymposium("replay", "nowhere.jsonl").returncode == 2


def test_verify_reports_the_first_difference_per_record(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "kuhn_poker", "--players", "random,random", "-n", "5", *HERE)
    path = tmp_path / RECORD
    done = gymposium("verify", RECORD)
    assert (done.returncode, "5 matches played again; all agree" in done.stdout) == (0, True)
    again = gymposium("verify", RECORD, f"./{RECORD}", str(path))  # three names of one file
    assert again.stdout == done.stdout
    lines = path.read_text().splitlines()
    tampered = json.loads(lines[1])
    tampered["returns"] = [9, -9]
    reseeded = json.loads(lines[2])
    reseeded["seed"] = next(s for s in range(99) if _deal(s) != _deal(reseeded["seed"]))
    half = lines[4][: len(lines[4]) // 2]
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join([lines[0], json.dumps(tampered), json.dumps(reseeded), "not a record", lines[3], half]))
    done = gymposium("verify", RECORD, "bad.jsonl")
    assert done.returncode == 1
    told = {int(found[1]): found[0] for found in re.finditer(r"^bad\.jsonl:(\d+).*$", done.stdout, re.MULTILINE)}
    assert told.keys() == {2, 3, 4, 6}
    assert "returns: [9, -9] is recorded" in told[2]
    assert "seed" in told[3]
    assert "not JSON" in told[4]
    assert f"{RECORD}: 5 matches played again; all agree." in done.stdout
    data = json.loads(gymposium("verify", "bad.jsonl", "--json").stdout)
    assert data["problems"] == 4
    assert data["files"][0]["matches"] == 4
    # replay names the lines that cannot be played again and shows the rest
    shown = gymposium("replay", "bad.jsonl", "--json")
    assert [problem["where"] for problem in json.loads(shown.stdout)["problems"]] == [
        "bad.jsonl:4",
        "bad.jsonl:6",
        f"Match {reseeded['id']}",
    ]
    assert len(json.loads(shown.stdout)["matches"]) == 3
    assert shown.stderr.count("not JSON") == 2


def _deal(seed: int) -> list[str]:
    from gymposium import load_game

    return [event.move for event in load_game("kuhn_poker").new(seed).events]


def test_replay_of_an_unknown_game_is_an_error(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "1", *HERE)
    path = tmp_path / RECORD
    path.write_text(path.read_text().replace('"tic_tac_toe"', '"tic_tac_to"'))
    done = gymposium("replay", RECORD)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "cannot be replayed: Unknown game 'tic_tac_to'. Did you mean 'tic_tac_toe' or "
        "'ultimate_tic_tac_toe'? If a plugin file adds it, load that file: gymposium --plugin FILE …\n"
    )
    done = gymposium("verify", RECORD)
    assert done.returncode == 1
    assert "Unknown game 'tic_tac_to'" in done.stdout
    assert "0 matches played again, 1 could not be; 1 line to look at." in done.stdout
    [file] = json.loads(gymposium("verify", RECORD, "--json").stdout)["files"]
    assert (file["matches"], file["not_played"], len(file["problems"])) == (0, 1, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("# a page\n\nwith text\n", "line 1: not JSON (Expecting value: line 1 column 1 (char 0))"),
        ('{"format": "gymposium-match-4"}\n', "line 1: fields are missing or invalid"),
        ('\n{"a": 1}\n' * 50, "line 2: not a match record in format 'gymposium-match-4'"),
    ],
)
def test_file_without_records_is_an_error(gymposium: Run, tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "other").write_text(text)
    for verb in ("replay", "verify"):
        done = gymposium(verb, "other")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[0].startswith(f"error: other: has no match record: {why}")
    data = json.loads(gymposium("verify", "other", "--json").stdout)
    assert data["problems"] == len(data["files"][0]["problems"]) == 1


def test_replay_of_an_illegal_match_is_an_error(gymposium: Run, tmp_path: Path) -> None:
    gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "1", *HERE)
    data = json.loads((tmp_path / RECORD).read_text())
    good = json.dumps(data)
    data["events"][1] = [1, data["events"][0][1]]  # an occupied square
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(data)}\n{good}\n")
    done = gymposium("replay", "bad.jsonl")
    assert done.returncode == 1
    assert re.search(r"cannot be replayed: event 1 is '..' of seat 1, but the replay gives '..' of seat 1", done.stderr)
    assert "Traceback" not in done.stderr
    assert "At the end seat 0 sees:" in done.stdout  # the other match


@pytest.mark.slow
def test_command_line_allows_modules_named_in_records(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('imported')\n")
    gymposium("run", "tic_tac_toe", "--players", "random,random", "-n", "1", "--out", "here")
    path = tmp_path / RECORD
    path.write_text(path.read_text().replace('"tic_tac_toe"', '"gym:mine:Text-v0"'))
    for verb in ("verify", "replay"):
        done = gymposium(verb, RECORD, env={"PYTHONPATH": str(tmp_path)})
        assert done.returncode == 1
        assert "gymposium --allow gym:mine:Text-v0" in done.stdout + done.stderr
        assert "imported" not in done.stdout
        done = gymposium("--allow", "gym:mine:*", verb, RECORD, env={"PYTHONPATH": str(tmp_path)})
        assert "imported" in done.stdout


def test_play_to_the_end(gymposium: Run, tmp_path: Path) -> None:
    """Typing errors are explained and not penalized; the end is shown; the match is recorded and verifies."""
    typed = "z9\n\n?\n" + "".join(f"{column}{row}\n" for _ in range(3) for row in "123" for column in "abc")
    done = gymposium("play", "tic_tac_toe", "--seed", "4", *HERE, typed=typed)
    assert done.returncode == 0, done.stderr
    assert "'z9' is not a legal move. Legal moves: a3," in done.stdout
    assert "Type a move." in done.stdout
    assert done.stdout.count("Three of your marks in a row") == 2
    [record] = records(tmp_path / RECORD)
    assert record.players == ["human", "random"]
    assert {"win": "You win.", "loss": "You lose.", "draw": "A draw."}[record.results[0]] in done.stdout
    assert all(turn["reading"] == "move" for turn in record.turns)
    assert f"Recorded in {RECORD} as match {record.id}" in done.stderr
    assert gymposium("verify", RECORD).returncode == 0


def test_play_shows_only_what_the_seat_may_see(gymposium: Run, tmp_path: Path) -> None:
    done = gymposium("play", "kuhn_poker", "--seat", "1", "--seed", "0", *HERE, typed="pass\npass\n")
    assert done.returncode == 0, done.stderr
    [record] = records(tmp_path / RECORD)
    assert record.players == ["random", "human"]
    from gymposium import load_game

    own = load_game("kuhn_poker").load(record.events).observe(1).text
    assert own.strip() in done.stdout
    assert len(set(re.findall(r"Your card: (.)", done.stdout))) == 1


def test_play_simultaneous_moves(gymposium: Run, tmp_path: Path) -> None:
    done = gymposium("play", "goofspiel(num_cards=3)", "--seed", "5", *HERE, typed="bid 3\nbid 2\n")
    assert done.returncode == 0, done.stderr
    assert "Round 1: prize" in done.stdout
    assert gymposium("verify", RECORD).returncode == 0


BREAKS = """
from gymposium import GameSpec, hookimpl
from gymposium.tasks.tools import Tool
from gymposium.tasks import Result, make_tool_game

def look() -> str:
    \"\"\"Look.\"\"\"

class World:
    def __init__(self, task): self.task, self.looked = task, False
    def opening(self, style): return "Look."
    async def call(self, call):
        if self.task["breaks"]:
            raise ConnectionError("no answer")
        self.looked = True
        return Result("seen")
    def over(self): return self.looked
    def score(self): return float(self.looked)
    def report(self): return {}
    async def close(self): pass

class Tasks:
    tools, max_calls, utility_range = (Tool.from_function(look),), 2, (0.0, 1.0)
    def rules(self, style): return "Look once.\\n"
    def task(self, seed): return {"breaks": seed % 2 == 0}
    async def open(self, task): return World(task)

def game(spec, params): return make_tool_game(spec, params, Tasks())

@hookimpl
def gymposium_games():
    yield GameSpec(name="breaks", title="Breaks", summary="Look.", entry_point="breaks:game", seats=1, chance=True,
                   information="imperfect", utility="score", free_text=True, tools="pure", unsearchable="it breaks")
"""


def test_run_reports_broken_matches_and_replays_them(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "breaks.py").write_text(BREAKS)
    done = gymposium("--plugin", "breaks.py", "run", "breaks", "--players", "random", "-n", "8", "--out", "b", "--json")
    assert done.returncode == 0, done.stderr
    finished = json.loads(done.stdout)["matches"]
    assert 0 < finished < 8
    assert f"{8 - finished} matches broke off and have no result" in done.stderr
    assert "The tool look failed: ConnectionError: no answer" in done.stderr
    again = re.search(r"Play them with {2}gymposium (.*)", done.stderr)
    assert again
    resumed = gymposium(*shlex.split(again[1]))
    assert f"{8 - finished} matches broke off" in resumed.stderr


def test_verify_groups_equal_reasons(gymposium: Run, tmp_path: Path) -> None:
    assert gymposium("run", "kuhn_poker", "--players", "random,random", "-n", "4", "--out", "r").returncode == 0
    lines = (tmp_path / "r" / "matches.jsonl").read_text().replace("kuhn_poker", "kuhn_joker")
    (tmp_path / "m.jsonl").write_text(f"{lines}nonsense\n")
    done = gymposium("verify", "m.jsonl")
    assert (done.returncode, done.stdout.count("kuhn_joker'")) == (1, 1), done.stdout
    assert "(and 3 more with this reason)" in done.stdout
    assert "5 lines to look at" in done.stdout
    assert len(json.loads(gymposium("verify", "m.jsonl", "--json").stdout)["files"][0]["problems"]) == 5


def test_play_accepts_one_tool_call_per_line(gymposium: Run) -> None:
    call = '{"name": "return_final_answer", "arguments": {"answer": "42", "sources": []}}'
    done = gymposium("play", "mail", "--seed", "3", *HERE, typed=f"look it up\n{call}\n")
    assert done.returncode == 0, done.stderr
    assert "This is not a call of a tool." in done.stdout
    assert gymposium("verify", RECORD).returncode == 0


def test_two_people_at_one_terminal(gymposium: Run) -> None:
    done = gymposium("play", "tic_tac_toe", "--opponent", "human", *HERE, typed="a1\na2\nb1\nb2\nc1\n")
    assert done.returncode == 0, done.stderr
    assert "seat 0 (human): win, +1" in done.stdout
    assert "seat 1> " in done.stdout


def test_input_that_ends_early_records_nothing(gymposium: Run, tmp_path: Path) -> None:
    done = gymposium("play", "tic_tac_toe", *HERE, typed="b2\n")
    assert done.returncode == 2
    assert "error: The input ended before the match was over." in done.stderr
    assert not (tmp_path / RECORD).exists()


@pytest.mark.parametrize("log", ["kaggle.jsonl", "openspiel.jsonl"])
def test_verify_names_the_command_for_foreign_logs(gymposium: Run, log: str) -> None:
    path = Path(__file__).parents[2] / "arena" / "audit" / "logs" / log
    done = gymposium("verify", str(path))
    assert done.returncode == 1
    assert f"gymposium audit {path}" in done.stderr
