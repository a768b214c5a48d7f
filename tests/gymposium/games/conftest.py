"""Fixtures of tests with hidden information."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Match


@pytest.fixture(scope="session")
def story() -> Callable[[Match, int], list[str]]:
    """Return all changes of a seat's view and its own moves. Fails if a move was illegal."""

    def told(match: Match, seat: int) -> list[str]:
        assert isinstance(match, OpenSpielMatch)
        log: list[str] = []
        state = match.game.start()
        for step in [*match.state.full_history(), None]:
            if not state.is_chance_node():
                view = match.game.render_view(state, seat)
                if not log or log[-1] != view:
                    log.append(view)
            if step is not None:
                if step.player == seat:
                    log.append(str(step.action))
                assert step.action in state.legal_actions()
                state.apply_action(step.action)
        return log

    return told
