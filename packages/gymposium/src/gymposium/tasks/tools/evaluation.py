"""JSON schema evaluation with `jsonschema`. Needs gymposium[worlds].

The functions take a schema as text and may be slow. `gymposium.tasks.tools.schema` calls them within limits.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    FormatChecker,
    validators,
)
from jsonschema.exceptions import SchemaError
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY, Schema, SchemaResource, specification_with

from gymposium.tasks.tools.samples import REFERENCES, ValueSampler

_DRAFTS: dict[str, Any] = {
    "draft-04": Draft4Validator,
    "draft-06": Draft6Validator,
    "draft-07": Draft7Validator,
    "draft/2019-09": Draft201909Validator,
    "draft/2020-12": Draft202012Validator,
}
_LONE_REFERENCES = (Draft4Validator, Draft6Validator, Draft7Validator)
"""Drafts that ignore keywords beside `$ref`."""
_DRAFT = re.compile(r"https?://json-schema\.org/(draft[-/][0-9-]+)/schema#?")
_UNCHECKABLE = (re.error, Unresolvable, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions from `jsonschema` for schemas it cannot evaluate.

They concern references to nothing or to a non-schema, patterns that Python cannot compile, and numbers beyond floating
point."""
_DANGLING = (Unresolvable, LookupError, TypeError, ValueError, AttributeError)
"""Exceptions from `referencing` for a reference to nothing or to a non-schema."""
_LONGEST_REASON = 200


@lru_cache(maxsize=256)
def find_invalidity(text: str) -> str | None:
    """Return why this schema is invalid in its draft, or None. References to other documents count as invalid."""
    document = json.loads(text)
    kind = _find_draft(document)
    if kind is None:
        return f"$schema is {str(document['$schema'])[:80]!r}; use one of {', '.join(_DRAFTS)}"
    try:
        kind.check_schema(document, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        return str(error.message)[:_LONGEST_REASON]
    except RecursionError:
        return "it is nested too deeply"
    resource = _make_resource(kind, document)
    outside = next(_find_outside(resource, EMPTY_REGISTRY.resolver_with_root(resource)), None)
    return None if outside is None else f"it refers to {outside[:80]!r}, which is not in it"


def find_objection(text: str, value: Any) -> str | None:
    """Return why a value does not match a valid schema, or None if it does."""
    try:
        error = next(_make_validator(text).iter_errors(value), None)
    except RecursionError:  # a schema that refers to itself for the same value constrains nothing
        return None
    if error is None:
        return None
    place = "".join(f"[{step!r}]" if isinstance(step, int) else f".{step}" for step in error.path)
    reason = f"{place.lstrip('.')}: {error.message}" if place else str(error.message)
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def sample_object(text: str, words: Sequence[str], rng: random.Random) -> dict[str, Any]:
    """Return a random object, which matches the schema if a few tries find such an object."""
    document = json.loads(text)
    kind = _find_draft(document) or Draft202012Validator
    resolve = partial(_resolve, EMPTY_REGISTRY.resolver_with_root(_make_resource(kind, document)))
    sampler = ValueSampler(document, resolve, words, rng, lone_references=kind in _LONE_REFERENCES)
    return sampler.draw(lambda value: find_objection(text, value) is None)


@lru_cache(maxsize=256)
def _make_validator(text: str) -> Any:
    document = json.loads(text)
    kind = _find_draft(document) or Draft202012Validator
    # the draft is known, and `jsonschema` would replace the forgiving class by the draft's own
    document.pop("$schema", None)
    return _make_lenient(kind)(document, registry=EMPTY_REGISTRY)


def _find_draft(document: dict[str, Any]) -> Any:
    """Return the validator for a schema's draft (2020-12 by default), or None for an unknown draft."""
    if "$schema" not in document:
        return Draft202012Validator
    named = _DRAFT.fullmatch(str(document["$schema"]))
    return None if named is None else _DRAFTS.get(named[1])


def _make_resource(kind: Any, document: dict[str, Any]) -> SchemaResource:
    return specification_with(kind.ID_OF(kind.META_SCHEMA)).create_resource(document)


@lru_cache(maxsize=len(_DRAFTS))
def _make_lenient(kind: Any) -> Any:
    """Return a variant of a draft's validator that skips keywords it cannot evaluate."""
    checks = {name: _skip_failing(check) for name, check in kind.VALIDATORS.items()}
    return validators.extend(kind, checks)  # type: ignore[no-untyped-call]


def _skip_failing(check: Callable[..., Iterator[Any] | None]) -> Callable[..., Iterator[Any]]:
    def checked(validator: Any, given: Any, instance: Any, schema: Any) -> Iterator[Any]:
        try:
            yield from check(validator, given, instance, schema) or ()
        except _UNCHECKABLE:
            return

    return checked


def _resolve(resolver: Any, reference: str) -> Schema | None:
    """Return the schema that a reference points to within the document, or None."""
    try:
        found: Any = resolver.lookup(reference).contents
    except _DANGLING:
        return None
    return found if isinstance(found, dict | bool) else None


def _find_outside(resource: SchemaResource, resolver: Any) -> Iterator[str]:
    """Yield the references to other documents."""
    contents: Any = resource.contents
    for keyword in REFERENCES if isinstance(contents, dict) else ():
        reference = contents.get(keyword)
        if isinstance(reference, str) and not reference.startswith("#"):
            try:
                resolver.lookup(reference)
            except Unresolvable:
                yield reference
            except _DANGLING:
                continue  # it points to a non-schema in this document
    for below in resource.subresources():
        yield from _find_outside(below, resolver.in_subresource(below))
