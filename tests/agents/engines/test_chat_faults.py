"""Invalid answers of a chat service are errors, never forfeit a match, and cannot exhaust memory."""

from __future__ import annotations

import gzip
import inspect
import json
import sys
import traceback
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from tests.agents.chat_server import Answer, chat_server, completion, refusal

from gymposium import load_game, make_player
from gymposium.errors import GymposiumError
from gymposium.http.responses import MAX_BODY
from gymposium.match import MatchJob, play
from gymposium.match.guard import Guard
from gymposium.records import Record
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.engines.api_settings import ApiSettings
from gymposium_agents.engines.chat_api import OpenAIChatEngine
from gymposium_agents.engines.secrets import remove_secret

KEY = "sk-can/ary+4f1d9c=="


def body(**usage: Any) -> bytes:
    return json.dumps(completion("b2").body | ({"usage": usage} if usage else {})).encode()


NESTED = b'{"choices": ' + b"[" * 100_000
TWICE = b'{"choices": [{"message": {"content": "a1"}}], "choices": [{"message": {"content": "b2"}}]}'
NO_MESSAGE = "choices[0].message is missing"

FAULTS: dict[str, tuple[Answer, str]] = {
    "nested": (Answer(body=NESTED), "nested too deeply"),
    "key twice": (Answer(body=TWICE), "the key 'choices' is repeated"),
    "cut short": (Answer(body=body()[:-9]), "an answer that ends too early (attempts: 1)"),
    "no number": (Answer(body=body().replace(b"10,", b"NaN,")), "NaN is not a JSON number"),
    "utf-16": (Answer(body=body().decode().encode("utf-16")), "utf-8"),
    "latin-1": (Answer(body=body().replace(b"b2", "né".encode("latin-1"))), "utf-8"),
    "surrogate": (Answer(body=body().replace(b"b2", rb"\ud800")), "lone surrogate"),
    "content is a number": (completion(7), "message.content is not text"),
    "content is an object": (completion({"text": "b2"}), "message.content is not text"),
    "content is a list of text": (completion(["b2"]), "message.content is not text"),
    "part without text": (completion([{"type": "text"}]), "message.content is not text"),
    "part with a list for its type": (completion([{"type": ["text"], "text": "b2"}]), "message.content is not text"),
    "text without chat": (Answer(body={"choices": [{"text": "b2", "finish_reason": "stop"}]}), NO_MESSAGE),
    "part of a stream": (Answer(body={"choices": [{"delta": {"content": "b2"}, "finish_reason": "stop"}]}), NO_MESSAGE),
    "part of an unknown type": (completion([{"type": "image_url"}]), "of unknown types: ['image_url']"),
    "two choices and none is the first": (Answer(body={"choices": [{"index": 1}, {"index": 2}]}), NO_MESSAGE),
    "too many characters": (completion("x" * 1_000_001), "1,000,000 are read"),
    "too many bytes": (completion("x" * MAX_BODY), "more than 4,194,304 bytes"),
    "unknown end of nothing": (completion("", "engine_crashed"), "finish_reason is unknown: 'engine_crashed'"),
    "unknown end of blanks": (completion("\n", "OTHER"), "finish_reason is unknown: 'other'"),
    "negative count": (Answer(body=body(prompt_tokens=-1, completion_tokens=2)), "usage.prompt_tokens is not"),
    "count is a float": (Answer(body=body(prompt_tokens=1.5, completion_tokens=2)), "usage.prompt_tokens is not"),
    "count is true": (Answer(body=body(prompt_tokens=1, completion_tokens=True)), "usage.completion_tokens is not"),
    "count of ten digits": (Answer(body=body(prompt_tokens=10**10)), "usage.prompt_tokens is not"),
    "count of thousands of digits": (Answer(body=body().replace(b"10,", b"9" * 5000 + b",")), "did not return a chat"),
    "usage is a list": (
        Answer(body=body().replace(b'{"prompt_tokens"', b'[{"prompt_tokens"') + b"]"),
        "chat completion",
    ),
    "redirect": (Answer(307, {}, {"Location": "http://127.0.0.1:1/v1"}), "Set base_url= to that address"),
    "encoded as it may not be": (Answer(body=body(), headers={"Content-Encoding": "br"}), "unrequested encoding 'br'"),
    "no gzip": (Answer(body=body(), headers={"Content-Encoding": "gzip"}), "not valid gzip, as its header claims"),
    "half a gzip": (Answer(body=gzip.compress(body())[:-12], headers={"Content-Encoding": "gzip"}), "ends too early"),
}


def settings(url: str, **options: Any) -> ApiSettings:
    return ApiSettings("tiny", url, **{"retries": 0, **options})


def get_failure(answer: Answer, **options: Any) -> BaseException:
    with chat_server(lambda asked, number: answer) as server:
        engine = OpenAIChatEngine(settings(server.url, **options))
        found = engine.submit([{"role": "user", "content": "?"}], Sampling(), 0).exception(60)
        engine.close()
    assert found is not None
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_invalid_answers_are_errors(name: str) -> None:
    answer, says = FAULTS[name]
    found = get_failure(answer)
    assert isinstance(found, GymposiumError)
    assert says in str(found)
    assert len(str(found)) < 1_000
    str(found).encode()


@pytest.mark.parametrize("charset", ["utf-16", "utf-7", "no-such-charset", "base64", "undefined", '"', "idna"])
@pytest.mark.parametrize("status", [200, 400])
def test_charset_header_is_ignored(charset: str, status: int) -> None:
    """JSON is UTF-8."""
    answer = completion("b2") if status == 200 else refusal(400, "nö")
    answer.headers["Content-Type"] = f"application/json; charset={charset}"
    if status == 400:
        assert "It says: nö" in str(get_failure(answer))
        return
    with chat_server(lambda asked, number: answer) as server:
        engine = OpenAIChatEngine(settings(server.url))
        assert engine.submit([], Sampling(), 0).result(60).text == "b2"
        engine.close()


@pytest.mark.parametrize("name", ["nested", "surrogate", "negative count", "too many characters", "utf-16"])
@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_service_faults_never_forfeit_a_match(name: str, schedule: Any) -> None:
    answers = [completion("b2"), FAULTS[name][0]]
    game = load_game("tic_tac_toe")
    with chat_server(lambda asked, number: answers[min(number, 1)]) as server:
        player = make_player(f"api:tiny?base_url={server.url}&context=full&reply=move&retries=0")
        job = MatchJob("m", game, [player, make_player("random")], seed=1)
        [played] = play([job], schedule=schedule, guard=Guard())
    assert played.ending.seat is None
    assert played.utilities == ()
    assert "did not return a chat completion" in played.ending.detail
    assert Record.from_match(played).ending == played.ending


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_decompression_is_bounded_in_memory(encoding: str) -> None:
    size = 200 * 2**20
    compress = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    chunk = bytes(2**20)
    bomb = b"".join([*(compress.compress(chunk) for _ in range(size // len(chunk))), compress.flush()])
    answer = Answer(body=bomb, headers={"Content-Encoding": encoding})
    tracemalloc.start()
    found = get_failure(answer)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than 4,194,304 bytes" in str(found)
    assert peak < 40 * 2**20


INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u17b4\u180e\u2028\u202e\u2061\u2065\u2800\u3164\ufe0f\uffa0\ufff9\U000e0041\U000e0101"
)
FORMS = {
    "as it is": KEY,
    "as JSON escapes a slash": KEY.replace("/", r"\/"),
    "JSON escapes": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "JSON escapes of JSON escapes": "".join(f"\\\\u{ord(c):04X}" for c in KEY),
    "some JSON escapes": KEY.replace("a", r"\u0061"),
    "percent": quote(KEY, safe=""),
    "percent of percent": quote(quote(KEY, safe=""), safe=""),
    "all percent": "".join(f"%{ord(c):02x}" for c in KEY),
    "HTML": "".join(f"&#{ord(c)};" for c in KEY),
    "HTML by name": KEY.replace("/", "&sol;").replace("=", "&equals;"),
    "hex escapes": "".join(f"\\\\x{ord(c):02x}" for c in KEY),
    "octal escapes": "".join(f"\\\\{ord(c):03o}" for c in KEY),
    "hexadecimal": KEY.encode().hex(),
    "base64": b64encode(KEY.encode()).decode(),
    "base64 of the header": b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 in percent": quote(b64encode(KEY.encode()).decode(), safe=""),
    "with what shows nothing": "\\u200b".join(KEY),
    "over two lines": f"{KEY[:7]}\\n{KEY[7:]}",
    "long JSON escapes": "".join(f"\\\\U{ord(c):08x}" for c in KEY),
    "JSON escapes of other shapes": "".join(f"\\\\uff{ord(c) - 32:02x}" for c in KEY),
    "fullwidth letters": "".join(chr(ord(c) + 0xFEE0) for c in KEY),
    "mathematical letters": "".join(chr(0x1D41A + ord(c) - 97) if "a" <= c <= "z" else c for c in KEY),
    "hexadecimal of both cases": "".join(d.upper() if n % 3 else d for n, d in enumerate(KEY.encode().hex())),
    "tag characters": "".join(chr(0xE0000 + ord(c)) for c in KEY),
    "tag characters in escapes": "".join(f"\\\\udb40\\\\udc{ord(c):02x}" for c in KEY),
    **{f"with U+{ord(c):04X}": c.join(KEY) for c in INVISIBLE},
    **{f"with U+{ord(c):04X} in HTML": f"&#{ord(c)};".join(KEY) for c in INVISIBLE},
}


def repeat_key(form: str, how: str) -> Answer:
    if how == "a reply":
        return Answer(body=b'{"choices": [{"message": {"content": "it is %b."}}]}' % form.encode())
    if how == "an error":
        return Answer(400, b'{"error": {"message": "no: %b."}}' % form.encode())
    return Answer(body=b"<p>Bearer %b</p>" % form.encode())


@pytest.mark.parametrize("how", ["a reply", "an error", "no JSON"])
def test_repeated_keys_are_redacted(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The key is found in every form that a reader or another program could decode."""
    monkeypatch.setenv("THEIR_KEY", KEY)
    answers = [repeat_key(form, how) for form in FORMS.values()]
    with chat_server(lambda asked, number: answers[number]) as server:
        engine = OpenAIChatEngine(settings(server.url, key="THEIR_KEY"))
        for name in FORMS:
            future = engine.submit([], Sampling(), 0)
            error = future.exception(60)
            said = future.result().text if error is None else "".join(traceback.format_exception(error))
            assert "[key]" in said, name
            assert remove_secret(said, KEY) == said, name
        engine.close()


@pytest.mark.parametrize("first", ["%{}41", "={}41", "&{}#65;", "\\{}x41"])
def test_nested_encodings_are_decoded_in_linear_time(first: str) -> None:
    """Each line holds the key one layer deeper. The number of replacements over all layers is bounded."""
    layer = {"%": "25", "=": "3D", "&": "amp;", "\\": "\\"}[first[0]]
    text = "\n".join(first.format(layer * depth) + KEY[1:].replace("k", "A") for depth in range(300))
    key = "A" + KEY[1:].replace("k", "A")
    with recursion_limit(200):
        shown = remove_secret(text, key)
        assert "[key]" in shown
        assert remove_secret(shown, key) == shown


@contextmanager
def recursion_limit(frames: int) -> Iterator[None]:
    """Allow this many more frames than there are now."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_redacts_a_key_split_over_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    answer = completion([{"type": "text", "text": part} for part in (KEY[:9], KEY[9:])])
    with chat_server(lambda asked, number: answer) as server:
        engine = OpenAIChatEngine(settings(server.url, key="THEIR_KEY"))
        assert engine.submit([], Sampling(), 0).result(60).text == "[key]"
        engine.close()


@pytest.mark.parametrize("key", ["b2", "none", "EMPTY", "0123456"])
def test_short_keys_do_not_change_replies(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short key, such as `none` for a server on this machine, may be a word or a move."""
    monkeypatch.setenv("THEIR_KEY", key)
    with chat_server(lambda asked, number: completion(f"<move>{key}</move> %41")) as server:
        engine = OpenAIChatEngine(settings(server.url, key="THEIR_KEY"))
        assert engine.submit([], Sampling(), 0).result(60).text == f"<move>{key}</move> %41"
        engine.close()


def test_text_is_unchanged_without_a_key() -> None:
    assert remove_secret("as it is: \\u0041 %41", None) == "as it is: \\u0041 %41"


def test_text_not_containing_the_key_is_unchanged() -> None:
    text = "a\\n\\u0041 %41 &lt;b&gt; \\\\ =41\u200b\n"
    assert remove_secret(text, KEY) == text
