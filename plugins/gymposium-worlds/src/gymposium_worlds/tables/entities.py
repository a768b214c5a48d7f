"""Entities of databases, with the names and values that their columns may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gymposium_worlds.tables.words import ADJECTIVES, FIRST_NAMES, LAST_NAMES, TOWNS

Kind = Literal["id", "label", "reference", "category", "integer", "decimal", "date", "contact"]
"""What a column holds. `label`: the unique name of a row. `contact`: a unique text that some rows lack (NULL)."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that an entity may have. A database uses one of the names."""

    kind: Kind
    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    """Of a category."""
    low: int = 0
    high: int = 0
    """Of a number, both included. Decimals are multiples of 0.25, which floats represent exactly."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A table that a database may have."""

    nouns: tuple[str, ...]
    """Singular nouns, one of which a database uses."""
    fixed: tuple[Attribute, ...]
    """Columns that are always there."""
    optional: tuple[Attribute, ...]
    """Columns of which a database has one or more."""
    labels: tuple[str, ...] = ()
    """Names of the column with the label; () if rows have none."""
    names: tuple[str, ...] = ()
    """Labels of rows."""
    absent: tuple[str, ...] = ()
    """Attributes that no database holds, as words."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Four related tables: a subject belongs to a place, and an event to a subject and an object."""

    place: Entity
    subject: Entity
    item: Entity
    event: Entity


def category(names: str, values: str) -> Attribute:
    """A column with a few different texts."""
    return Attribute("category", tuple(names.split()), tuple(values.split()))


def integer(names: str, low: int, high: int) -> Attribute:
    """A column of whole numbers."""
    return Attribute("integer", tuple(names.split()), low=low, high=high)


def decimal(names: str, low: int, high: int) -> Attribute:
    """A column of numbers that are multiples of 0.25."""
    return Attribute("decimal", tuple(names.split()), low=low, high=high)


def date(names: str) -> Attribute:
    """A column of dates."""
    return Attribute("date", tuple(names.split()))


_CONTACT = Attribute("contact", ("phone", "mobile", "telephone"))
_REGION = category("region zone", "north south east west centre")
_PEOPLE = tuple(f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES)
_NO_PERSON = ("shoe size", "blood type", "eye colour", "birthplace", "favourite meal")
_NO_THING = ("barcode", "country of origin", "storage temperature", "insurance number", "inventor")
_NO_PLACE = ("postcode", "altitude", "mayor", "number of fire exits", "founding charter")


def place(nouns: str, number: Attribute, *more: Attribute) -> Entity:
    """A table of places, which have the names of towns."""
    return Entity(tuple(nouns.split()), (_REGION, number), more, ("name", "town"), TOWNS, _NO_PLACE)


def person(nouns: str, group: Attribute, number: Attribute, *more: Attribute) -> Entity:
    """A table of people."""
    fixed = (group, number, _CONTACT)
    return Entity(tuple(nouns.split()), fixed, more, ("name", "full_name"), _PEOPLE, _NO_PERSON)


def thing(nouns: str, things: str, group: Attribute, number: Attribute, *more: Attribute) -> Entity:
    """A table of things, whose names are made of an adjective and a noun."""
    names = tuple(f"{adjective} {thing}" for adjective in ADJECTIVES for thing in things.split())
    return Entity(tuple(nouns.split()), (group, number), more, ("name", "title"), names, _NO_THING)


def event(nouns: str, group: Attribute, number: Attribute, *more: Attribute) -> Entity:
    """A table of events, which have no names."""
    return Entity(tuple(nouns.split()), (group, number), more)
