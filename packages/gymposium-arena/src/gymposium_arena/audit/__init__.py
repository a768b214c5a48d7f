"""Audits of other libraries' logs: episodes are replayed by gymposium's rules and become gymposium records.

`files` finds and reads log files within limits and imports nothing that a log names. Each format has a module that
turns the JSON of a log into episodes: `inspect_ai`, `textarena`, `openspiel`, `kaggle`. These modules report events to
a `logged_match`, the driver replays it, and every mismatch is reported. `report` counts results, and `ratings` rates
the agents.
"""

from gymposium_arena.audit.audit import Audit, audit_logs
from gymposium_arena.audit.episode import Episode

__all__ = ["Audit", "Episode", "audit_logs"]
