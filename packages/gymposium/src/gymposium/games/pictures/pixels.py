"""Pictures as pixels, for videos, vision models and learners with image observations. Needs gymposium[images].

Pixels depend only on the picture and the versions of resvg-py and Pillow: colors are those of the light scheme, and
text has the font that comes with this module.
"""

from __future__ import annotations

import io
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError, PluginError
from gymposium.games.pictures.picture import Picture
from gymposium.games.pictures.tables import draw_note
from gymposium.games.protocol import Match, PictureMatch
from gymposium.util.extras import require_extra

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

SIDE = 512
"""Width and height of every image, in pixels."""
MOST_PIXELS = 2**24
"""Maximum number of pixels of a picture that is opened."""
_MARGIN = 8
_FONT = Path(__file__).parent / "font" / "DejaVuSans.ttf"
_FAMILY = "DejaVu Sans"
_SVG = re.compile(r"<svg\b([^>]*)>(.*)</svg>", re.DOTALL)
_SIZE = re.compile(r"""\s(?:x|y|width|height|xmlns)\s*=\s*(?:"[^"]*"|'[^']*')""")
_COLOR = re.compile(r"--([\w-]+)\s*:\s*([^;}]+)")
_VARIABLE = re.compile(r"var\(\s*--([\w-]+)\s*(?:,\s*([^()]*))?\)")


def can_render_pixels() -> bool:
    """Return whether gymposium[images] is installed."""
    return find_spec("resvg_py") is not None and find_spec("PIL") is not None


def draw_position(match: Match, seat: int) -> Picture:
    """Return the picture of a seat's view of the position. A game without pictures shows the view's text."""
    picture = match.draw_picture(seat) if isinstance(match, PictureMatch) else None
    if picture is None:
        text = match.observe(seat).text
        picture = Picture.from_parts(draw_note(text), told=text)
    return picture


@lru_cache(maxsize=128)
def render_png(picture: Picture) -> bytes:
    """Return a picture as a PNG file of `SIDE` by `SIDE` pixels, centered on white.

    Raises `MissingExtra` without gymposium[images], and `PluginError` for a picture that is not an SVG."""
    with require_extra("Pictures as pixels", "gymposium[images]", "resvg_py"):
        from resvg_py import svg_to_bytes
    found = _SVG.search(picture.html)
    if found is None:
        raise PluginError("Only SVG pictures have pixels. Let draw_picture return an <svg>.")
    colors = dict(reversed(_COLOR.findall(picture.html)))  # the first definition is the light scheme's
    attributes, inside = _SIZE.sub("", found[1]), found[2]
    inside = _VARIABLE.sub(lambda use: colors.get(use[1], use[2] or "black").strip(), inside)
    size = SIDE - 2 * _MARGIN
    try:
        return svg_to_bytes(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}">'
            f'<svg x="{_MARGIN}" y="{_MARGIN}" width="{size}" height="{size}"{attributes}>{inside}</svg></svg>',
            background="#ffffff",
            skip_system_fonts=True,
            font_files=[str(_FONT)],
            font_family=_FAMILY,
            sans_serif_family=_FAMILY,
            monospace_family=_FAMILY,
        )
    except ValueError as error:
        raise PluginError(f"resvg cannot draw a picture: {error}. Correct what draw_picture returns.") from error


def render_pixels(picture: Picture) -> np.ndarray:
    """Return a picture as a uint8 array of shape (`SIDE`, `SIDE`, 3). Errors are those of `render_png`."""
    import numpy as np

    return np.asarray(open_picture(render_png(picture))).copy()


def make_blank(size: tuple[int, int]) -> Image:
    """Return a black image of this width and height."""
    with require_extra("Pictures as pixels", "gymposium[images]", "PIL"):
        from PIL import Image
    return Image.new("RGB", size)


def open_picture(file: bytes) -> Image:
    """Return a PNG or JPEG file as an image of Pillow, in RGB.

    Raises `GymposiumError` for another or a damaged file and for more than `MOST_PIXELS`, and `MissingExtra` without
    gymposium[images]."""
    with require_extra("Pictures as pixels", "gymposium[images]", "PIL"):
        from PIL import Image
    try:
        picture = Image.open(io.BytesIO(file), formats=("PNG", "JPEG"))
        if picture.width * picture.height > MOST_PIXELS:
            raise GymposiumError(
                f"A picture has {picture.width} by {picture.height} pixels, more than {MOST_PIXELS:,}. Make it smaller."
            )
        return picture.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise GymposiumError(f"A picture is damaged, or no PNG or JPEG file. Send a whole file. ({error})") from error
