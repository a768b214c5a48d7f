"""Corruptions of honest logs, ten per format, each with the message by which the audit reports it.

A corruption changes the episodes of a log, as a list of JSON objects. `at` is the number of the changed episode.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

Episodes = list[Any]
Change = Callable[[Episodes], object]


class Corruption(NamedTuple):
    """One corruption."""

    name: str
    at: int
    change: Change
    says: str
    """A regular expression that is found in what the audit says of the episode."""


def _swap(data: Any, key: Any, other: Any) -> None:
    data[key], data[other] = data[other], data[key]


def _joint(episodes: Episodes) -> Any:
    """The first joint action of the game of bids."""
    return next(t for t in episodes[6]["transitions"] if t["player"] == -2)["joint_action"]


OPENSPIEL = [
    Corruption(
        "changed action",
        0,
        lambda e: e[0]["transitions"][2].update(action=e[0]["transitions"][1]["action"]),
        r"transition 2: action 1 of seat 0 is not legal",
    ),
    Corruption("changed reward", 1, lambda e: e[1]["header"].update(returns=[0.0, 0.0]), r"returns are \[0.0, 0.0\]"),
    Corruption(
        "swapped players",
        2,
        lambda e: [t.update(player=1 - t["player"]) for t in e[2]["transitions"]],
        r"transition 0: seat 1 moves, but 0 is to move",
    ),
    Corruption(
        "dropped move", 3, lambda e: e[3]["transitions"].pop(4), r"transition 4: seat 1 moves, but 0 is to move"
    ),
    Corruption(
        "move after the end",
        1,
        lambda e: e[1]["transitions"].append({"player": 0, "action": 4}),
        r"transition 6: the match is already over",
    ),
    Corruption(
        "changed chance", 4, lambda e: e[4]["transitions"][0].update(action=2), r"transition 1: 2 is not an outcome"
    ),
    Corruption(
        "wrong winner",
        5,
        lambda e: _swap(e[5]["header"]["returns"], 0, 1),
        r"returns are \[-1.0, 1.0\], but the match pays \[1.0, -1.0\]",
    ),
    Corruption(
        "wrong claimed status", 0, lambda e: e[0]["header"].update(terminal=False), r"says that the match is unfinished"
    ),
    Corruption(
        "changed joint action",
        6,
        lambda e: _joint(e).__setitem__(0, 7),
        r"transition 1: action 7 of seat 0 is not legal",
    ),
    Corruption(
        "duplicated episode id",
        8,
        lambda e: e.append(deepcopy(e[2])),
        r"duplicate episode connect_four-0, first seen in .*:3",
    ),
]

TEXTARENA = [
    Corruption(
        "changed action",
        0,
        lambda e: e[0]["actions"][3].__setitem__(1, "[2]"),
        r"rewards belong to a finished match, but the log ends where seat 0 is to move",
    ),
    Corruption(
        "changed reward",
        2,
        lambda e: e[2]["rewards"].update({"0": 1, "1": -1}),
        r"rewards are \[1, -1\], but the match pays \[0.0, 0.0\]",
    ),
    Corruption(
        "swapped players",
        3,
        lambda e: [a.__setitem__(0, 1 - a[0]) for a in e[3]["actions"]],
        r"action 0 .*: seat 1 moves, but 0 is to move",
    ),
    Corruption("dropped move", 5, lambda e: e[5]["actions"].pop(5), r"action 5 .*: seat 0 moves, but 1 is to move"),
    Corruption(
        "move after the end",
        0,
        lambda e: e[0]["actions"].append([1, "[3]"]),
        r"action 7 .*: the match is already over",
    ),
    Corruption(
        "wrong winner", 6, lambda e: _swap(e[6]["rewards"], "0", "1"), r"rewards are \[1, -1\], but the match pays"
    ),
    Corruption(
        "wrong claimed status",
        1,
        lambda e: e[1]["game_info"]["0"].update(invalid_move=False),
        r"player 0 made no invalid move at the end",
    ),
    Corruption(
        "a failed reply made legal",
        1,
        lambda e: e[1]["actions"][2].__setitem__(1, "[0]"),
        r"action 3 .*: seat 0 moves, but 1 is to move",
    ),
    Corruption(
        "changed game", 3, lambda e: e[3].update(env="TicTacToe-v0"), r"action 1 .*: seat 1 moves, but 0 is to move"
    ),
    Corruption(
        "duplicated episode id",
        9,
        lambda e: e.append(deepcopy(e[5])),
        r"duplicate episode textarena-\w+, first seen in .*:6",
    ),
]

KAGGLE = [
    Corruption(
        "changed action",
        0,
        lambda e: _find_mover(e[0], 3).update(action=(_find_mover(e[0], 3)["action"] + 1) % 7),
        r"step 3: the observation shows a board that the moves do not produce",
    ),
    Corruption("changed reward", 0, lambda e: _pay(e[0], [1, 1]), r"rewards are \[1, 1\], but the match pays"),
    Corruption(
        "swapped players",
        3,
        lambda e: [step.reverse() for step in e[3]["steps"]],
        r"its rewards are \[1.0, -1.0\], but those of the last step",
    ),
    Corruption(
        "dropped move",
        0,
        lambda e: e[0]["steps"].pop(4),
        r"step 4: the observation shows a board that the moves do not produce",
    ),
    Corruption(
        "move after the end",
        3,
        lambda e: e[3]["steps"].append(deepcopy(e[3]["steps"][-1])),
        r"step 7: the match is already over",
    ),
    Corruption(
        "changed chance",
        6,
        lambda e: e[6]["info"]["actionHistory"].__setitem__(0, "871"),
        r"step 1: .* has the history \[870\], but it should be \[871\]",
    ),
    Corruption(
        "wrong winner",
        5,
        lambda e: _pay(e[5], [1.0, 2.0]),
        r"rewards are \[1.0, 2.0\], but they should be \[2.0, 1.0\]",
    ),
    Corruption(
        "wrong claimed status",
        1,
        lambda e: _end(e[1], ["DONE", "TIMEOUT"]),
        r"step 6: the status says that seat 1 timed out, but it moves 99",
    ),
    Corruption(
        "summary of another episode",
        4,
        lambda e: e[4].update(rewards=[-1, 1]),
        r"its rewards are \[-1, 1\], but those of the last step",
    ),
    Corruption(
        "duplicated episode id", 7, lambda e: e.append({**deepcopy(e[0]), "id": e[5]["id"]}), r"duplicate episode .*:6"
    ),
]


def _find_mover(episode: Any, number: int) -> Any:
    """The state of the agent that moved in a step."""
    before, step = episode["steps"][number - 1], episode["steps"][number]
    return next(now for was, now in zip(before, step, strict=True) if was["status"] == "ACTIVE")


def _pay(episode: Any, rewards: list[Any]) -> None:
    episode["rewards"] = rewards
    for state, reward in zip(episode["steps"][-1], rewards, strict=True):
        state["reward"] = reward


def _end(episode: Any, statuses: list[str]) -> None:
    episode["statuses"] = statuses
    for state, status in zip(episode["steps"][-1], statuses, strict=True):
        state["status"] = status


def _record(sample: Any) -> Any:
    return sample["store"]["gymposium_record"]


def _scores(sample: Any) -> Any:
    return sample["scores"]["outcome"]["value"]


INSPECT = [
    Corruption(
        "changed action",
        0,
        lambda e: _record(e[0])["turns"][0].update(text="b2"),
        r"the model's message 0 is .*, but the record has the reply 'b2'",
    ),
    Corruption(
        "changed reward",
        1,
        lambda e: _record(e[1]).update(returns=[0.5, -0.5]),
        r"the score outcome.return is 0.0, but the record gives -0.5",
    ),
    Corruption(
        "swapped players",
        2,
        lambda e: e[2]["metadata"].update(seat=1 - e[2]["metadata"]["seat"]),
        r"the model wrote 3 messages, but the record has 2 replies of seat 1",
    ),
    Corruption(
        "dropped move",
        0,
        lambda e: (_record(e[0])["events"].pop(), _record(e[0])["turns"].pop()),
        r"the model wrote 4 messages, but the record has 3 replies",
    ),
    Corruption(
        "move after the end",
        0,
        lambda e: _record(e[0])["events"].append([0, "a1"]),
        r"event 6 .* comes after the end of the match",
    ),
    Corruption(
        "changed seed",
        3,
        lambda e: _record(e[3]).update(player_seed=1),
        r"the metadata has player_seed \d+, but the record has 1",
    ),
    Corruption(
        "wrong winner",
        4,
        lambda e: _record(e[4])["results"].reverse(),
        r"the outcome score has the answer 'loss', but the record gives 'win'",
    ),
    Corruption(
        "wrong claimed status",
        0,
        lambda e: _scores(e[0]).update(forfeit=1.0, forfeit_illegal=1.0),
        r"the score outcome.forfeit\w* is 1.0, but the record gives 0.0",
    ),
    Corruption(
        "changed message",
        0,
        lambda e: next(m for m in e[0]["messages"] if m["role"] == "assistant").update(content="zz"),
        r"the model's message 0 is 'zz'",
    ),
    Corruption("duplicated episode id", 6, lambda e: e.append(deepcopy(e[0])), r"duplicate episode .*"),
]

PLANTED = {"openspiel": OPENSPIEL, "textarena": TEXTARENA, "kaggle": KAGGLE, "inspect": INSPECT}


def format_log(form: str, episodes: Episodes) -> str:
    """The text of a log with these episodes."""
    if form == "inspect":
        return json.dumps({"version": 2, "status": "success", "eval": {}, "samples": episodes})
    return "".join(json.dumps(episode) + "\n" for episode in episodes)
