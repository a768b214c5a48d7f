"""The tests of what gymposium-ray does without Ray, which is not installed beside the other tests."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "plugins/gymposium-ray/src"
if str(SOURCE) not in sys.path:
    sys.path.append(str(SOURCE))
