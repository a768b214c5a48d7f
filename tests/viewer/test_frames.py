"""Picture frames: their shape, and the clickable places."""

from __future__ import annotations

import pytest

from gymposium.games.pictures import Picture, PicturePlace
from gymposium_viewer.frames import map_clicks, render_frame

BOARD = Picture(
    "<svg></svg>",
    200,
    100,
    (PicturePlace("e2", 0, 0, 50, 50), PicturePlace("e4", 50, 0, 50, 50), PicturePlace("e2", 100, 50, 100, 50)),
)


def test_moves_map_to_the_places_they_name() -> None:
    told = map_clicks(BOARD, ["e2e4", "pass", "e4"])
    assert told is not None
    assert told["names"] == ["e2", "e4"]
    assert told["moves"] == [[0, 1], [], [1]]


def test_places_in_several_parts_may_share_a_name() -> None:
    told = map_clicks(BOARD, ["e2"])
    assert told is not None
    assert told["rects"] == [[0, 0, 0, 0.25, 0.5], [1, 0.25, 0, 0.25, 0.5], [0, 0.5, 0.5, 0.5, 0.5]]


def test_picture_without_named_moves_is_not_clickable() -> None:
    assert map_clicks(BOARD, ["pass", "resign"]) is None
    assert map_clicks(BOARD, []) is None


@pytest.mark.parametrize(("height", "tall"), [(100.0, 0.5), (1e9, 6.0), (1e-9, 0.04)])
def test_frame_keeps_the_pictures_shape_within_limits(height: float, tall: float) -> None:
    html, shape = render_frame(Picture("\x1b", 200, height))
    assert "\x1b" not in html
    assert shape == tall
