"""The viewer part that shows recorded matches: a list, and each match step by step.

`export_matches` writes match pages for other sites. It needs none of the server's libraries.
"""

from gymposium_viewer.replays.match_page import export_matches

__all__ = ["export_matches"]
