"""The people of a mailbox: names, nicknames, roles and addresses."""

from __future__ import annotations

from dataclasses import dataclass

from gymposium.util.streams import Draw

DOMAIN = "arden.example"

_NICKNAMES = {
    "Alexandra": "Alex", "Andrew": "Andy", "Anthony": "Tony", "Barbara": "Babs", "Benjamin": "Ben",
    "Catherine": "Cathy", "Christopher": "Chris", "Daniel": "Dan", "Deborah": "Debbie", "Edward": "Ted",
    "Elizabeth": "Liz", "Frederick": "Fred", "Gabriella": "Gabby", "Gregory": "Greg", "Isabella": "Bella",
    "Jennifer": "Jenny", "Joseph": "Joe", "Jonathan": "Jon", "Josephine": "Josie", "Lawrence": "Larry",
    "Margaret": "Peggy", "Matthew": "Matt", "Michael": "Mike", "Nicholas": "Nick", "Patricia": "Trish",
    "Philippa": "Pippa", "Rebecca": "Becky", "Robert": "Bob", "Samuel": "Sam", "Stephen": "Steve",
    "Susan": "Sue", "Theodora": "Dora", "Thomas": "Tom", "Victoria": "Vicky", "William": "Bill",
}  # fmt: skip
_OTHERS = (
    "Ada Amir Anna Astrid Bruno Carla Clara Darius Elif Emil Fatima Felix Grace Hanna Hugo Ines Ivan Jana Kofi Lena "
    "Leo Lucia Mara Mei Nadia Nora Olga Omar Paula Pavel Rosa Ruth Selma Sven Tara Theo Uma Vera Wanda Yusuf"
).split()
_FAMILIES = (
    "Abbott Adler Bauer Becker Bennett Berg Blake Brandt Brooks Carter Castro Chapman Cole Costa Dalton Diaz Doyle "
    "Ellis Falk Farrell Fischer Fletcher Garcia Gibson Grant Haas Hale Harper Hoffman Holt Hughes Ibarra Jansen Jensen "
    "Keller Kemp Klein Lang Larsen Lopez Lund Marsh Mercer Meyer Miller Moreau Moss Novak Nolan Olsen Ortiz Palmer "
    "Park Petrov Quinn Ramos Reed Rossi Roth Sato Schmidt Shaw Silva Stone Sutton Tanaka Torres Tran Vance Vargas "
    "Vogel Walsh Weber West Wolff Wood Young Ziegler Zimmer"
).split()
_ROLES = (
    "sales", "purchasing", "finance", "human resources", "engineering", "legal", "marketing", "support", "facilities",
    "research", "logistics", "quality",
)  # fmt: skip
_RANKS = ("head of", "manager in", "assistant in")


@dataclass(frozen=True, slots=True)
class Person:
    """An employee."""

    name: str
    """First and family name, as in mail headers: `Robert Miller`."""
    alias: str
    """The name in mail texts: `Bob Miller`, or the same as `name`."""
    role: str
    address: str

    @property
    def header(self) -> str:
        """Return the person as written in the sender or recipient field."""
        return f"{self.name} <{self.address}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Return all distinct names of the person."""
        return (self.name,) if self.name == self.alias else (self.name, self.alias)


def make_people(count: int, draw: Draw) -> tuple[Person, ...]:
    """Return `count` people, 400 at most, with distinct names. Some share a family name, and about half use a short
    form of their first name.
    """
    families = draw.some(_FAMILIES, max(4, (3 * count) // 4))
    people: list[Person] = []
    taken: set[str] = set()
    while len(people) < count:
        given = draw.pick(tuple(_NICKNAMES)) if draw.chance(0.5) else draw.pick(_OTHERS)
        family = draw.pick(families)
        name, alias = f"{given} {family}", f"{_NICKNAMES.get(given, given)} {family}"
        if name in taken or alias in taken:
            continue
        taken |= {name, alias}
        address = f"{given[0]}{family[0]}{len(people) + 1}@{DOMAIN}".lower()  # shows no name
        people.append(Person(name, alias, f"{draw.pick(_RANKS)} {draw.pick(_ROLES)}", address))
    return tuple(people)
