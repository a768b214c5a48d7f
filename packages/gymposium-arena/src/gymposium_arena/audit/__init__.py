"""Audit other libraries' logs: replay their episodes with gymposium's rules and convert them to records.

`files` reads log files within limits and imports nothing that a log names. Each log format has a module that parses
episodes: `inspect_ai`, `textarena`, `openspiel` or `kaggle`. It feeds their events to a `logged_match`, which the
driver replays. `atif` reads exported matches, which hold their records. `ratings` counts results and rates the agents.
"""

from gymposium_arena.audit.audit import Audit, audit_logs
from gymposium_arena.audit.episode import Episode

__all__ = ["Audit", "Episode", "audit_logs"]
