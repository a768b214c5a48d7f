"""Clients send pictures to a tiny vision model, in every dialect, and a run learns from their sessions."""

from __future__ import annotations

import asyncio
import base64
import io
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from PIL import Image
from tests.agents.vision import PARTS, save_vision_model
from tests.train.serving.serving import begin, make_player, service_in
from transformers import PreTrainedTokenizerFast

from gymposium.games.pictures.pixels import can_render_pixels, draw_position, render_png
from gymposium.games.registry import load_game
from gymposium.http.app import build_api
from gymposium.http.client import Server, Session
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.chat.rows import make_token_rows
from gymposium_agents.modeling import pictures
from gymposium_agents.modeling.pictures import FIRST, list_pictures
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train import train
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import build_config
from gymposium_train.serving.completions import format_error
from gymposium_train.serving.model_app import ModelApi
from gymposium_train.serving.server import serve
from gymposium_train.serving.trajectories import list_turns, read_group

pytestmark = pytest.mark.skipif(
    not can_render_pixels(), reason='resvg-py is not installed: pip install "gymposium[images]"'
)


@pytest.fixture(scope="module")
def vision_directory(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    directory = tmp_path_factory.mktemp("vision")
    save_vision_model(directory, family_tokenizer("smollm2"))
    return directory


@pytest.fixture(scope="module")
def vision(vision_directory: Path) -> LoadedModel:
    return load_model(vision_directory)


def draw_board(*moves: str) -> bytes:
    board = load_game("tic_tac_toe").new(0)
    for number, move in enumerate(moves):
        board.apply({number % 2: move})
    return render_png(draw_position(board, 0))


def encode(file: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(file).decode()}"


def show(*parts: str | bytes) -> Any:
    """A user message of chat completions."""
    return {
        "role": "user",
        "content": [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": encode(part)}}
            for part in parts
        ],
    }


def test_a_conversation_with_pictures_is_one_row(vision: LoadedModel, tmp_path: Path) -> None:
    player = make_player(vision)
    service = service_in(tmp_path, player, group_size=1, port=0)
    with closing(service), serve(service, service.sessions.settings, tmp_path, TrainConfig(), None) as address:
        row, secret = begin(service)
        with openai.OpenAI(base_url=f"{address}/s/{secret}/v1", api_key="none") as client:
            messages: list[Any] = [show("First ", draw_board(), " then ", draw_board("b2"), ". Which is empty?")]
            first = client.chat.completions.create(model="any", messages=messages)
            messages += [
                first.choices[0].message.model_dump(exclude_none=True),
                show(draw_board("b2", "a1"), "And now?"),
            ]
            answer = client.chat.completions.create(model="any", messages=messages)
        turns = list_turns(row, service.file.turns(row.id))
        assert [turn.beginning for turn in turns] == ["fresh", "grown"]
        assert len(make_token_rows([turn.tokens for turn in turns])) == 1
        prompt = turns[-1].tokens.prompt
        assert answer.usage is not None
        assert answer.usage.prompt_tokens == len(prompt)
        assert list_pictures(prompt) == [draw_board(), draw_board("b2"), draw_board("b2", "a1")]
        words = player.chat.tokenizer.decode([token if token < FIRST else 0 for token in turns[0].tokens.prompt])
        assert words.index("First") < words.index("then") < words.index("Which is empty?")
        assert sum(token >= FIRST for token in turns[0].tokens.prompt) == 2 * PARTS


def test_all_dialects_read_the_same_picture(vision: LoadedModel) -> None:
    """Also a photograph, whose tokens are counted. What is no picture is refused."""
    buffer = io.BytesIO()
    Image.new("RGB", (90, 40), "red").save(buffer, "JPEG")
    jpeg = buffer.getvalue()
    url, data = encode(jpeg, "jpeg"), base64.b64encode(jpeg).decode()
    source = {"type": "base64", "media_type": "image/jpeg", "data": data}
    said = [{"type": "text", "text": "?"}]
    block = {"role": "user", "content": [{"type": "image", "source": source}, *said]}
    item = {"role": "user", "content": [{"type": "input_image", "image_url": url}, {"type": "input_text", "text": "?"}]}
    chat = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}, *said]}
    broken = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": encode(jpeg[:99], "jpeg")}}]}

    async def send_all() -> list[httpx.Response]:
        routes = ModelApi(make_player(vision), "tiny", 0, strict=False).routes()
        transport = httpx.ASGITransport(build_api(routes, format_error=format_error))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8750/v1/") as client:
            return [
                await client.post(path, json=body)
                for path, body in (
                    ("messages", {"messages": [block], "max_tokens": 2}),
                    ("messages/count_tokens", {"messages": [block]}),
                    ("responses", {"input": [item], "max_output_tokens": 2}),
                    ("chat/completions", {"messages": [chat], "max_tokens": 2}),
                    ("chat/completions", {"messages": [broken]}),
                )
            ]

    *answers, refused = asyncio.run(send_all())
    first, count, second, third = (answer.json() for answer in answers)
    tokens = {
        first["usage"]["input_tokens"],
        count["input_tokens"],
        second["usage"]["input_tokens"],
        third["usage"]["prompt_tokens"],
    }
    [number] = tokens
    assert number > PARTS
    assert refused.status_code == 400
    assert "A picture is damaged" in refused.json()["error"]["message"]


@pytest.mark.slow
def test_a_run_learns_from_sessions_with_pictures(
    vision_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port, out = int(probe.getsockname()[1]), tmp_path / "run"
    config = build_config(
        {
            "model": {"name": str(vision_directory), "tune": "lora", "lora": {"rank": 4}},
            "steps": 1,
            "reward": "posted",
            "engine": {"kind": "own"},
            "credit": {"kind": "grpo"},
            "source": {"kind": "sessions", "port": port},
            "rollout": {"group_size": 4},
            "prompting": {"max_tokens": 4},
        }
    )

    def look(session: Session[Server]) -> dict[str, Any]:
        with openai.OpenAI(base_url=session.base_url, api_key="none") as client:
            client.chat.completions.create(model="any", messages=[show(draw_board(), "Which is empty?")])
        return {"reward": float(session.member)}

    run = threading.Thread(target=train, args=(config,), kwargs={"out": out}, daemon=True)
    run.start()
    with Server(f"http://127.0.0.1:{port}") as server:
        server.play(look, groups=1, size=4)
        metrics = server.train()
    run.join(60)
    assert metrics["train/rows"] == 4
    assert metrics["train/mismatch_kl"] < 1e-9
    assert (RunDirectory(out).adapter / "adapter_model.safetensors").is_file()
    monkeypatch.setattr(pictures, "_kept", pictures._KeptPictures())  # as in a restarted run
    with closing(SessionsFile(out / "sessions.sqlite", read_only=True)) as file:
        [group] = file.groups(job=1)
        trajectories = read_group(file, group.key).trajectories
    assert [list_pictures(turn.trace.prompt) for one in trajectories for turn in one.turns] == [[draw_board()]] * 4
