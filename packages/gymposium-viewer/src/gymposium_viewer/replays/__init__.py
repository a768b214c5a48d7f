"""The viewer part that shows matches: the list of all recorded matches, and each one step by step.

`export_matches` writes pages of records for other sites. It needs none of the server's libraries.
"""

from gymposium_viewer.replays.match_page import export_matches

__all__ = ["export_matches"]
