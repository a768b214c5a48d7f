"""Conversations are distributed over servers and stay on their server if possible."""

from __future__ import annotations

from hypothesis import given, strategies as st

from gymposium_agents.engines.vllm.fleet import rank_servers

CONVERSATIONS = [f"match-{match}/{seat}" for match in range(1000) for seat in range(2)]


@given(conversation=st.text(), servers=st.integers(1, 12))
def test_ranking_lists_each_server_once(conversation: str, servers: int) -> None:
    assert sorted(rank_servers(conversation, servers)) == [*range(servers)]


@given(conversation=st.text(), servers=st.integers(1, 12))
def test_adding_a_server_keeps_the_order_of_the_others(conversation: str, servers: int) -> None:
    """So a conversation stays, or moves to the new server; and without a server it moves to its next one."""
    more = rank_servers(conversation, servers + 1)
    assert [place for place in more if place != servers] == rank_servers(conversation, servers)


def test_servers_get_equal_shares_even_when_one_is_added() -> None:
    for servers in range(1, 9):
        first = [rank_servers(conversation, servers)[0] for conversation in CONVERSATIONS]
        fair = len(CONVERSATIONS) / servers
        assert all(0.8 * fair < first.count(place) < 1.2 * fair for place in range(servers))
        more = [rank_servers(conversation, servers + 1)[0] for conversation in CONVERSATIONS]
        moved = [now for before, now in zip(first, more, strict=True) if now != before]
        assert set(moved) == {servers}
        assert 0.8 < len(moved) / (len(CONVERSATIONS) / (servers + 1)) < 1.2


def test_lost_server_is_divided_evenly_among_the_others() -> None:
    seconds = [order[1] for order in (rank_servers(one, 4) for one in CONVERSATIONS) if order[0] == 0]
    assert all(0.7 * len(seconds) / 3 < seconds.count(place) < 1.3 * len(seconds) / 3 for place in (1, 2, 3))
