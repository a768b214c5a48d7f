"""Audits of other libraries' logs: their episodes become gymposium records, played again by gymposium's rules.

`files` finds and reads log files within limits, without importing anything that a log names. Each format has a module,
which turns the JSON of a log into episodes: `inspect_ai`, `textarena`, `openspiel`, `kaggle`. They tell a
`logged_match` what happened, which the driver plays again, and name whatever does not agree. `report` counts, and
`ratings` rates the agents.
"""

from gymposium_arena.audit.audit import Audit, audit_logs
from gymposium_arena.audit.episode import Episode

__all__ = ["Audit", "Episode", "audit_logs"]
