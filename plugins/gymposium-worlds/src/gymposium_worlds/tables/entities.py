"""Entities for databases, with possible names and values of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["id", "label", "reference", "category", "integer", "decimal", "date", "contact"]
"""Kind of a column. `label`: the unique name of a row. `contact`: a unique text that some rows lack (NULL)."""

FIRST_NAMES = tuple(
    "Ada Alan Alma Anton Bea Boris Carla Cyril Dana Denis Edith Emil Erna Felix Fiona Gerd Greta Hanna Hugo Ida "
    "Igor Ines Ivan Jana Jonas Julia Karl Kira Leo Lena Lukas Maja Marek Mila Nadia Nils Nora Olga Oskar Paula "
    "Pavel Petra Rosa Ruben Selma Simon Tara Theo Vera Victor Wanda Yusuf".split()
)
LAST_NAMES = tuple(
    "Abel Adler Baker Becker Bloom Brandt Carter Castro Costa Dahl Dietz Duarte Ellis Engel Farkas Fischer Foster "
    "Garcia Graf Haas Hansen Holm Ito Jansen Jensen Kato Keller Klein Kovacs Lange Lopez Marsh Meyer Moreno Novak "
    "Olsen Park Patel Quinn Reyes Richter Rossi Sato Silva Stein Torres Unger Vogel Walsh Weber Young Ziegler".split()
)
TOWNS = tuple(
    "Alder Ashford Bellmere Birchwood Brookfield Cedarton Clearwater Dunmore Eastvale Elmhurst Fairview Foxley "
    "Glenbrook Greystone Harbour Hazelton Highfield Ironbridge Kingsley Lakeside Larkhill Maplewood Millbrook "
    "Northgate Oakdale Pinecrest Riverton Rosewood Sandhurst Southmoor Stonehaven Thornbury Westbrook Willowby".split()
)
ADJECTIVES = tuple(
    "Amber Ancient Bold Bright Calm Classic Copper Crimson Deep Distant Early Electric Emerald Gentle Golden "
    "Grand Hidden Honest Ivory Late Little Lucky Misty Modern Northern Quiet Rapid Royal Silent Silver Simple "
    "Smooth Solid Sunny Urban Velvet Violet Warm White Wild".split()
)


@dataclass(frozen=True, slots=True)
class RowAttribute:
    """A column that an entity may have. Each database picks one of the names."""

    kind: Kind
    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    """The possible values of a category."""
    low: int = 0
    high: int = 0
    """The upper bound of a number; both bounds are inclusive. Decimals are multiples of 0.25, which floats represent
    exactly."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A table that a database may have."""

    nouns: tuple[str, ...]
    """Singular nouns. A database uses one."""
    fixed: tuple[RowAttribute, ...]
    """Columns that every table has."""
    optional: tuple[RowAttribute, ...]
    """Optional columns. A database has one or more of them."""
    labels: tuple[str, ...] = ()
    """Names for the label column; () if rows have no label."""
    names: tuple[str, ...] = ()
    """Possible labels of rows."""
    absent: tuple[str, ...] = ()
    """Phrases for attributes that no database has."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Four related tables: a subject belongs to a place, and an event to a subject and an item."""

    place: Entity
    subject: Entity
    item: Entity
    event: Entity


def make_category_column(names: str, values: str) -> RowAttribute:
    """Return a column with a small set of text values."""
    return RowAttribute("category", tuple(names.split()), tuple(values.split()))


def make_integer_column(names: str, low: int, high: int) -> RowAttribute:
    """Return a column of integers."""
    return RowAttribute("integer", tuple(names.split()), low=low, high=high)


def make_decimal_column(names: str, low: int, high: int) -> RowAttribute:
    """Return a column of multiples of 0.25."""
    return RowAttribute("decimal", tuple(names.split()), low=low, high=high)


def make_date_column(names: str) -> RowAttribute:
    """Return a column of dates."""
    return RowAttribute("date", tuple(names.split()))


_CONTACT = RowAttribute("contact", ("phone", "mobile", "telephone"))
_REGION = make_category_column("region zone", "north south east west centre")
_PEOPLE = tuple(f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES)
_NO_PERSON = ("shoe size", "blood type", "eye colour", "birthplace", "favourite meal")
_NO_THING = ("barcode", "country of origin", "storage temperature", "insurance number", "inventor")
_NO_PLACE = ("postcode", "altitude", "mayor", "number of fire exits", "founding charter")


def make_place_entity(nouns: str, number: RowAttribute, *more: RowAttribute) -> Entity:
    """Return a table of places with names like those of towns."""
    return Entity(tuple(nouns.split()), (_REGION, number), more, ("name", "town"), TOWNS, _NO_PLACE)


def make_person_entity(nouns: str, group: RowAttribute, number: RowAttribute, *more: RowAttribute) -> Entity:
    """Return a table of people."""
    fixed = (group, number, _CONTACT)
    return Entity(tuple(nouns.split()), fixed, more, ("name", "full_name"), _PEOPLE, _NO_PERSON)


def make_thing_entity(
    nouns: str, things: str, group: RowAttribute, number: RowAttribute, *more: RowAttribute
) -> Entity:
    """Return a table of things, each named with an adjective and a noun."""
    names = tuple(f"{adjective} {thing}" for adjective in ADJECTIVES for thing in things.split())
    return Entity(tuple(nouns.split()), (group, number), more, ("name", "title"), names, _NO_THING)


def make_event_entity(nouns: str, group: RowAttribute, number: RowAttribute, *more: RowAttribute) -> Entity:
    """Return a table of events, which have no names."""
    return Entity(tuple(nouns.split()), (group, number), more)
