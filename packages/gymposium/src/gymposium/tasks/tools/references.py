"""Resolution of JSON schema references within a document. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY, Schema, SchemaResource

KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class ReferenceResolver:
    """The subschemas of a document by reference."""

    resolver: Any

    @classmethod
    def within(cls, resource: SchemaResource) -> Self:
        """Return the references in this document."""
        return cls(EMPTY_REGISTRY.resolver_with_root(resource))

    def __call__(self, reference: str) -> Schema | None:
        """Return the schema at a reference, or None if there is none."""
        try:
            found: Any = self.resolver.lookup(reference).contents
        except (Unresolvable, LookupError, TypeError, ValueError, AttributeError):
            return None
        return found if isinstance(found, dict | bool) else None


def find_outside_references(resource: SchemaResource) -> Iterator[str]:
    """Yield the references to other documents."""
    yield from _find_outside(resource, EMPTY_REGISTRY.resolver_with_root(resource))


def _find_outside(resource: SchemaResource, resolver: Any) -> Iterator[str]:
    contents: Any = resource.contents
    for keyword in KEYWORDS if isinstance(contents, dict) else ():
        reference = contents.get(keyword)
        if isinstance(reference, str) and not reference.startswith("#"):
            try:
                resolver.lookup(reference)
            except Unresolvable:
                yield reference
            except (LookupError, TypeError, ValueError, AttributeError):
                continue  # it points to a non-schema in this document
    for below in resource.subresources():
        yield from _find_outside(below, resolver.in_subresource(below))
