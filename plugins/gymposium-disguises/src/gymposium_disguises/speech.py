"""Words that a disguise draws from its seed: names of the sides, the places and the pieces."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.util.streams import Draw, stream

SIDES = ("Amber", "Coral", "Indigo", "Jade", "Mauve", "Ochre", "Olive", "Rust", "Teal", "Umber")
TOKENS = ("barrel", "basket", "crate", "drum", "flag", "kettle", "lantern", "ribbon", "saddle", "wagon")
PLACES = ("berth", "booth", "nook", "pier", "plot", "spot", "stall", "yard")
AXES = (("dock", "bin"), ("deck", "cabin"), ("lane", "door"), ("street", "house"), ("terrace", "garden"))
"""Words for the first and second parts of place names."""
PLANTS = tuple(
    "alder ash beech birch cedar clover elm fern fig hazel holly iris ivy larch lily lime maple mint moss oak "
    "palm peach pear pine plum reed rose sage willow yew".split()
)
ANIMALS = tuple(
    "ant bat bear bee cat cow crab crow deer dog dove duck eagle eel elk fish fox frog goat hare hawk hen horse lamb "
    "lion mole moth mouse otter owl seal swan toad wolf".split()
)


class Speech:
    """Words of one disguise. Equal seeds and games give equal words."""

    def __init__(self, seed: int, game: str) -> None:
        self.draw = Draw(stream(seed, "disguise", game))
        """The random stream for the disguise's choices."""
        one, other = self.draw.some(SIDES, 2)
        self.sides = (one, other)
        """Names of the two seats."""
        self.token = self.draw.pick(TOKENS)
        self.place = self.draw.pick(PLACES)
        self.axes = self.draw.pick(AXES)

    def draw_plants(self, number: int) -> list[str]:
        """Return names of plants in random order."""
        return self.draw.some(PLANTS, number)

    def draw_animals(self, number: int) -> list[str]:
        """Return names of animals in random order."""
        return self.draw.some(ANIMALS, number)


def join_words(words: Sequence[str]) -> str:
    """Join words with commas: `oak, elm, fig`, or `none` for an empty list."""
    return ", ".join(words) or "none"
