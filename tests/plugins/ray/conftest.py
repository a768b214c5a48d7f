"""The tests of gymposium-ray that need no Ray, which is not installed with the other tests."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "plugins/gymposium-ray/src"
if str(SOURCE) not in sys.path:
    sys.path.append(str(SOURCE))
