"""A model behind a chat service sees pictures of positions: `prompt=image` and `prompt=both`."""

from __future__ import annotations

import base64
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.agents.chat_server import Answer, ChatRequest, chat_server, completion

from gymposium.errors import MissingExtra
from gymposium.games.pictures.pixels import can_render_pixels, draw_position, render_png
from gymposium.games.registry import load_game
from gymposium.match import GameRefused, MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.records import RecordWriter, verify_file
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.players.api_player import make_api_player

needs_pixels = pytest.mark.skipif(
    not can_render_pixels(),
    reason='resvg-py is not installed: pip install "gymposium[images]"',
)


def split_content(message: dict[str, Any]) -> tuple[bytes, str]:
    """Return the picture and the text of a user message."""
    shown, said = message["content"]
    assert (shown["type"], said["type"]) == ("image_url", "text")
    head, _, data = shown["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    return base64.b64decode(data, validate=True), said["text"]


def play_first_legal(asked: ChatRequest, number: int = 0) -> Answer:
    """A model that plays the first legal move in the text beside the picture."""
    _, text = split_content(asked.messages[-1])
    (line,) = [line for line in text.splitlines() if line.startswith("Legal moves: ")]
    return completion(f"<move>{line.removeprefix('Legal moves: ').split(', ')[0]}</move>")


def play_one(options: str, game: str = "tic_tac_toe", seed: int = 1, answer: Any = play_first_legal, **job: Any) -> Any:
    """Play a match in seat 0, and return its result and the requests."""
    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}&{options}")
        loaded = load_game(game)
        players = [player, *[make_player("random")] * (loaded.seats - 1)]
        (played,) = play([MatchJob("m", loaded, players, seed, **job)])
    return played, server.asked


@needs_pixels
@pytest.mark.parametrize("prompt", ["image", "both"])
def test_each_message_has_the_seats_picture(prompt: str, tmp_path: Path) -> None:
    played: MatchResult
    played, asked = play_one(f"prompt={prompt}&prices=1/10")
    mine = [turn for turn in played.turns if turn.seat == 0]
    assert {turn.reading for turn in mine} == {"move"}
    assert [turn.usage.cost for turn in mine] == [3e-5] * len(mine)  # what the service counted, pictures included
    for number, request in enumerate(asked):
        match = load_game("tic_tac_toe").load(played.events[: 2 * number], 1)
        picture, text = split_content(request.messages[-1])
        assert picture == render_png(draw_position(match, 0))
        assert (match.observe(0).text in text) == (prompt == "both")
        assert ("The picture shows" in text) == (prompt == "image")
        assert load_game("tic_tac_toe").rules(0) in text
    file = tmp_path / "matches.jsonl"
    with RecordWriter(file) as writer:
        writer.write(played)
    assert verify_file(file).problems == []


@needs_pixels
def test_a_conversation_keeps_its_pictures_and_a_retry_its_reason() -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return completion("nonsense") if number == 1 else play_first_legal(asked)

    _, asked = play_one("prompt=image&context=full", answer=answer, on_illegal=FailurePolicy.parse("retry(2)"))
    for before, after in pairwise(asked):
        assert after.messages[: len(before.messages)] == before.messages
    assert "could not be read" in split_content(asked[2].messages[-1])[1]
    assert split_content(asked[2].messages[-1])[0] == split_content(asked[1].messages[-1])[0]


@needs_pixels
def test_worlds_that_look_alike_give_equal_requests() -> None:
    requests: dict[str, list[Any]] = {}
    deals: dict[str, set[str]] = {}
    for seed in range(12):
        played, asked = play_one("prompt=image&seed=false", "kuhn_poker", seed)
        view = load_game("kuhn_poker").load(played.events[:2], seed).view(0)
        assert requests.setdefault(view, asked[0].messages) == asked[0].messages
        deals.setdefault(view, set()).add(str(played.events[:2]))
    assert len(requests) == 3
    assert max(map(len, deals.values())) == 2


def test_a_game_with_tools_is_refused_before_the_first_request() -> None:
    with pytest.raises(GameRefused, match="prompt=image is only for games without tools"):
        play_one("prompt=image", "mail")


def test_a_later_prompt_option_hides_pictures_again() -> None:
    seeing = PlayerSettings("compact").with_options({"prompt": "both"})
    assert (seeing.style, seeing.pictures) == ("full", "both")
    assert seeing.with_options({"prompt": "compact"}) == PlayerSettings("compact")
    assert seeing.with_options({"context": "full"}).pictures == "both"


def test_pictures_are_part_of_the_identity() -> None:
    player = make_api_player("tiny", "base_url=http://127.0.0.1:9/v1&prompt=both")
    assert player.identity().decoding["prompt"] == "both"
    assert player.style == "full"


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r'pip install "gymposium\[images\]"'):
        play_one("prompt=image", "pig", seed=9)
