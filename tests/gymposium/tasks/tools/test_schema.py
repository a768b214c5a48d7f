"""Third-party JSON schemas: every draft and keyword is checked and sampled, without fetching or stalling."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.tasks.tools import Tool, schema as module
from gymposium.tasks.tools.random_calls import make_random_call
from gymposium.tasks.tools.schema import Schema
from gymposium.util.streams import stream

URL = "https://json-schema.org/draft/2020-12/schema"


def draft(number: int) -> str:
    return f"http://json-schema.org/draft-0{number}/schema#"


def argument(schema: Any, **more: Any) -> dict[str, Any]:
    """The schema of an object whose required argument `a` has this schema."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **more}


# each with a value that fits and one that does not
ODD: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "definitions": (argument({"$ref": "#/definitions/n"}, definitions={"n": {"type": "integer"}}), {"a": 1}, {"a": ""}),
    "$defs": (argument({"$ref": "#/$defs/n"}, **{"$defs": {"n": {"type": "integer"}}}), {"a": 1}, {"a": ""}),
    "reference to a property": (
        {**argument({"type": "integer"}), "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}},
        {"a": 1, "b": 2},
        {"a": 1, "b": ""},
    ),
    "dangling": (argument({"$ref": "#/$defs/gone"}), {"a": [1]}, {}),
    "reference to no schema": (argument({"$ref": "#/required"}), {"a": [1]}, {}),
    "recursive": (
        argument({"$ref": "#/$defs/t"}, **{"$defs": {"t": argument({"type": ["null", "object"], "$ref": "#/$defs/u"}),
            "u": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/t"}]}}}),
        {"a": {"a": {"a": None}}},
        {"a": {"a": 1}},
    ),
    "itself": (argument({"$ref": "#/properties/a"}), {"a": 1}, {}),
    "anchor": (argument({"$ref": "#n"}, **{"$defs": {"n": {"$anchor": "n", "type": "null"}}}), {"a": None}, {"a": 1}),
    "id within": (
        argument({"$ref": "n.json"}, **{"$id": "http://127.0.0.1:9/s.json", "$defs": {"n": {"$id": "n.json",
            "type": "null"}}}),
        {"a": None},
        {"a": 1},
    ),
    "true": (argument(True), {"a": {"b": []}}, {}),
    "false": ({"type": "object", "properties": {"a": False, "b": True}}, {"b": 1}, {"a": 1}),
    "prefixItems": (
        argument({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False,
            "minItems": 2}),
        {"a": ["x", 1]},
        {"a": ["x", 1, 2]},
    ),
    "top-level oneOf": (
        {"oneOf": [argument({"const": 1}), {**argument(True), "required": ["b"], "not": {"required": ["a"]}}]},
        {"b": 1},
        {"a": 2},
    ),
    "top-level reference": ({"$ref": "#/$defs/o", "$defs": {"o": argument({"type": "null"})}}, {"a": None}, {"a": 1}),
    "type list": (argument({"type": ["integer", "null"]}), {"a": None}, {"a": "x"}),
    "type list of objects": ({**argument({"type": "null"}), "type": ["object", "null"]}, {"a": None}, {"a": 1}),
    "minimum": (argument({"type": "integer", "minimum": 5_000}), {"a": 5_000}, {"a": 4_999}),
    "maximum": (argument({"type": "number", "maximum": -5_000}), {"a": -5_000}, {"a": 0}),
    "narrow": (argument({"type": "number", "exclusiveMinimum": 0.001, "exclusiveMaximum": 0.002}), {"a": 0.0015},
        {"a": 0.002}),
    "multipleOf": (argument({"type": "integer", "multipleOf": 7, "minimum": 1}), {"a": 14}, {"a": 8}),
    "multipleOf 0.5": (argument({"type": "number", "multipleOf": 0.5}), {"a": 1.5}, {"a": 1.2}),
    "huge multipleOf": (argument({"type": "number", "multipleOf": 10**400}), {"a": 0}, {"a": "0"}),
    "allOf": (
        {"allOf": [argument({"type": "integer"}), {"properties": {"a": {"minimum": 3}}, "required": ["b"]}]},
        {"a": 3, "b": 0},
        {"a": 3},
    ),
    "pattern": (argument({"type": "string", "pattern": "^[a-z]{3}-[^a-z]+$"}), {"a": "abc-1"}, {"a": "abc"}),
    "foreign pattern": (argument({"type": "string", "pattern": "^\\p{L}+$"}), {"a": "abc"}, {"a": 1}),
    "minLength": (argument({"type": "string", "minLength": 60}), {"a": "x" * 60}, {"a": "x"}),
    "not": (argument({"type": "integer", "minimum": 0, "maximum": 9, "not": {"const": 0}}), {"a": 1}, {"a": 0}),
    "if": (
        {**argument({"enum": ["x", "y"]}), "if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["b"]}},
        {"a": "y"},
        {"a": "x"},
    ),
    "patternProperties": (
        {"patternProperties": {"^x[0-9]$": {"type": "integer"}}, "additionalProperties": False, "minProperties": 2},
        {"x1": 1, "x2": 2},
        {"x1": 1, "y": 2},
    ),
    "propertyNames": ({"propertyNames": {"enum": ["x", "y"]}, "minProperties": 1}, {"x": 1}, {"z": 1}),
    "dependentRequired": (
        {"properties": {"a": True, "b": True}, "dependentRequired": {"a": ["b"]}},
        {"a": 1, "b": 1},
        {"a": 1},
    ),
    "unevaluatedProperties": (
        {"allOf": [argument({"type": "integer"})], "unevaluatedProperties": False},
        {"a": 1},
        {"a": 1, "b": 1},
    ),
    "contains": (argument({"type": "array", "contains": {"const": 7}, "minContains": 2}), {"a": [7, 7]}, {"a": [7]}),
    "uniqueItems": (argument({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3}),
        {"a": [1, 2, 3]}, {"a": [1, 1, 2]}),
    "open": (argument({"type": "integer"}), {"a": 1, "b": 2}, {"b": 2}),
    "maxItems 0": (argument({"type": "array", "maxItems": 0}), {"a": []}, {"a": [1]}),
    "no type": (argument({"properties": {"b": {"type": "null"}}, "required": ["b"]}), {"a": {"b": None}}, {"a": {}}),
    "draft 4": (
        {"$schema": draft(4), **argument({"type": "integer", "minimum": 3, "exclusiveMinimum": True})},
        {"a": 4},
        {"a": 3},
    ),
    "draft 6": ({"$schema": draft(6), **argument({"contains": {"const": 1}})}, {"a": [1]}, {"a": [2]}),
    "draft 7": (
        {"$schema": draft(7), **argument({"type": "array", "items": [{"type": "integer"}], "additionalItems": False})},
        {"a": [1]},
        {"a": [1, 2]},
    ),
    "draft 2019-09": (
        {"$schema": URL.replace("2020-12", "2019-09"), "properties": {"a": {"$recursiveRef": "#"}},
            "additionalProperties": False},
        {"a": {"a": {}}},
        {"a": {"b": 1}},
    ),
    "reference and siblings of draft 7": (
        {"$schema": draft(7), **argument({"$ref": "#/definitions/n", "minimum": 50},
            definitions={"n": {"type": "integer", "maximum": 9}})},
        {"a": 9},
        {"a": 50},
    ),
    "dependentSchemas": (
        argument(True, dependentSchemas={"a": {"required": ["z"], "properties": {"z": {"type": "null"}}}}),
        {"a": 1, "z": None},
        {"a": 1},
    ),
    "dependencies of draft 7": (
        {"$schema": draft(7), **argument(True, dependencies={"a": ["z"],
            "z": {"required": ["y"], "properties": {"y": {"type": "null"}}}})},
        {"a": 1, "z": 1, "y": None},
        {"a": 1, "z": 1},
    ),
    "not a type": (argument({"not": {"type": ["string", "number"]}}), {"a": None}, {"a": 1}),
    "pattern and minLength": (
        argument({"type": "string", "pattern": "^[a-z]*$", "minLength": 20, "maxLength": 22}),
        {"a": "a" * 20},
        {"a": "a" * 19},
    ),
    "pattern and maxLength": (argument({"pattern": "^a+b*$", "maxLength": 2, "type": "string"}), {"a": "ab"},
        {"a": "abb"}),
    "draft 2020-12": ({"$schema": URL, **argument({"type": "null"})}, {"a": None}, {"a": 1}),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_unusual_schemas_are_checked_and_sampled(odd: str) -> None:
    schema, fits, other = ODD[odd]
    tool, rng = Tool("f", "", schema), stream(1, odd)
    tool.schema.check()
    assert tool.find_objection(fits) is None
    assert tool.find_objection(other) is not None
    for _ in range(8):
        call = make_random_call([tool], "Who sent the invoice?", rng)
        assert tool.find_objection(call.arguments) is None, call


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "properties": {"a": {"type": "objekt"}}}, "'objekt' is not valid"),
        (
            {"$schema": "http://json-schema.org/draft-03/schema#"},
            r"\$schema is 'http.*draft-03/schema#'; use one of",
        ),
        (
            argument({"anyOf": [{"$ref": "file:///etc/passwd"}]}),
            "it refers to 'file:///etc/passwd', which is not in it",
        ),
        (argument({"$id": "http://127.0.0.1:9/", "$ref": "x"}), "it refers to 'x', which is not in it"),
    ],
)
def test_unusable_schema_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Schema(schema).check()


def test_schema_size_is_limited() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"items": deep}
    for schema, reason in (
        (deep, "nested 20. deep"),
        ({"title": "x" * 300_000}, "more than 200,000"),
        ({"a": {1}}, "not JSON"),
    ):
        with pytest.raises(ValueError, match=reason):
            Tool("f", "", {"properties": {"a": schema}})


def test_nothing_is_fetched(tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "null"}')

        def log_message(self, *given: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "s.json").write_text('{"type": "null"}', encoding="utf-8")
    for base in (f"http://127.0.0.1:{server.server_port}/s.json", (tmp_path / "s.json").as_uri()):
        for one in (
            {"$ref": base},
            {"$dynamicRef": base},
            {"$id": base, "$ref": "#/gone"},
            {"$id": base.replace("s.json", "t.json"), "anyOf": [{"$ref": "s.json"}]},
            {"allOf": [{"$ref": base}], "unevaluatedProperties": False},
        ):
            schema = Schema(argument(one))
            assert schema.find_objection({"a": 1}) is None  # had it been read, 1 would not be null
            schema.sample(["word"], stream(0, "fetch"))
    server.shutdown()
    server.server_close()
    assert asked == []


def tree(levels: int, keyword: str) -> dict[str, Any]:
    """Definitions each of which holds the next one twice."""
    following = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)
    }
    return {"$defs": {**following, f"d{levels}": {"type": "string"}}, **argument({"$ref": "#/$defs/d0"})}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"oneOf": [schema, {"type": "null"}]}
    return argument(schema)


STALLING = {
    "pattern": argument({"type": "string", "pattern": "^(a+)+$"}),
    "pattern of names": argument({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}),
    "allOf": tree(40, "allOf"),
    "anyOf": tree(40, "anyOf"),
    "oneOf": tree(40, "oneOf"),
    "oneOf without references": nested(45),
    "repetitions": argument({"type": "string", "pattern": "^((((x{1,900}){1,900}){1,900}){1,900}){1,900}$"}),
    "long": argument({"type": "string", "minLength": 10**12}),
    "many": argument({"type": "array", "minItems": 10**12}),
}


@pytest.mark.parametrize(
    "stalling", [pytest.param(one, marks=pytest.mark.slow if n > 0 else ()) for n, one in enumerate(STALLING)]
)
def test_schema_cannot_stall_a_match(stalling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    schema, bad = Schema(STALLING[stalling]), "a" * 60 + "!"
    assert (
        schema.find_objection({"a": {bad: 1} if "names" in stalling else bad if "pattern" in stalling else 1})
        is not None
    )
    assert isinstance(schema.sample([bad], stream(0, "stall")), dict)


def lists(levels: int, least: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "minItems": least, "items": schema}
    return argument(schema)


LARGE = {
    "texts": argument({}, properties={f"p{n}": {"type": "string", "minLength": 10**5} for n in range(400)}),
    "lists": lists(5, 100),
    "objects": argument({}, properties={f"p{n}": {"type": "object", "minProperties": 9_000} for n in range(400)}),
    "names": argument({"const": 1, "type": "null"}, required=["a", *(f"n{n}" for n in range(1_900))]),
}
for one in LARGE.values():
    one["required"] = [*one["required"], *one["properties"]]


@pytest.mark.parametrize("large", LARGE)
def test_large_schema_is_sampled_within_the_limit(large: str) -> None:
    schema, start = Schema(LARGE[large]), time.process_time()
    assert isinstance(schema.sample(["word"], stream(0, "large")), dict)
    assert time.process_time() - start < module.SECONDS


@pytest.mark.slow
def test_schema_is_given_up_after_three_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.1)
    schema = Schema(STALLING["pattern"])
    bad = {"a": "a" * 60 + "!"}
    assert [str(schema.find_objection(bad))[:40] for _ in range(3)] == ["they cannot be checked (the schema takes"] * 3
    assert schema.find_objection({"a": "a"}) == "they cannot be checked (the schema took more than 0.1 s 3 times)"
    other = Schema(STALLING["pattern"])
    assert other.find_objection({"a": "a"}) is None  # the process has been started again


@pytest.mark.slow
def test_sampling_is_deterministic_across_processes() -> None:
    script = (
        "import json, sys; from gymposium.util.streams import stream; from gymposium.tasks.tools.schema import Schema\n"
        "for one in json.load(sys.stdin): print(json.dumps(Schema(one).sample(['word', 'other'], stream(3, 's'))))"
    )
    schemas = [ODD[name][0] for name in ("pattern", "patternProperties", "top-level oneOf", "narrow", "recursive")]
    told = [
        subprocess.run(
            [sys.executable, "-P", "-c", script], input=json.dumps(schemas), capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert told[0] == told[1]


_LEAVES = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "number", "boolean", "null"])}),
    st.fixed_dictionaries({"enum": st.lists(st.one_of(st.integers(), st.text(max_size=3)), min_size=1, max_size=3)}),
    st.builds(lambda low, step: {"type": "integer", "minimum": low, "multipleOf": step}, st.integers(-9999, 9999),
              st.integers(1, 50)),
    st.builds(lambda low, size: {"type": "number", "exclusiveMinimum": low, "maximum": low + size},
              st.integers(-99, 99), st.floats(0.01, 10)),
    st.builds(lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more}, st.integers(0, 30),
              st.integers(0, 5)),
    st.sampled_from(["^[A-Z]{2}[0-9]+$", "^(on|off)$", "[^x]y", r"^\d{4}-\d\d$"]).map(
        lambda pattern: {"type": "string", "pattern": pattern}
    ),
    st.just({"$ref": "#/$defs/leaf"}),
)  # fmt: skip


def _larger(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "c"])
    return st.one_of(
        st.builds(
            lambda properties, required, others: {
                "type": "object", "properties": properties, "additionalProperties": others,
                "required": [name for name in required if properties.get(name, False) is not False],
            },
            st.dictionaries(names, schemas, max_size=3), st.lists(names, unique=True), st.booleans(),
        ),
        st.builds(lambda one, least: {"type": "array", "items": one, "minItems": least, "maxItems": least + 2},
                  schemas.filter(lambda one: one is not False), st.integers(0, 3)),
        st.builds(lambda ones: {"type": "array", "prefixItems": ones, "items": False, "minItems": len(ones)},
                  st.lists(schemas.filter(lambda one: one is not False), min_size=1, max_size=3)),
        st.builds(lambda ones: {"anyOf": [*ones, {"type": "null"}]}, st.lists(schemas, max_size=2)),
        st.builds(lambda one: {"allOf": [one, True]}, schemas.filter(lambda one: one is not False)),
    )  # fmt: skip


@settings(max_examples=40)
@given(st.recursive(_LEAVES.filter(lambda one: one is not False), _larger, max_leaves=6), st.integers(0, 2**32))
def test_random_values_fit_random_schemas(schema: Any, seed: int) -> None:
    made = Schema(argument(schema, **{"$defs": {"leaf": {"type": ["integer", "null"], "maximum": 5}}}))
    made.check()
    assert made.find_objection(made.sample(["word", "other"], stream(seed, "values"))) is None
