"""Conversations are divided among servers, and stay where they are as far as possible."""

from __future__ import annotations

from hypothesis import given, strategies as st

from gymposium_agents.engines.vllm.fleet import rank_servers

CONVERSATIONS = [f"match-{match}/{seat}" for match in range(1000) for seat in range(2)]


@given(conversation=st.text(), servers=st.integers(1, 12))
def test_each_server_has_one_place_in_the_order(conversation: str, servers: int) -> None:
    assert sorted(rank_servers(conversation, servers)) == [*range(servers)]


@given(conversation=st.text(), servers=st.integers(1, 12))
def test_one_more_server_does_not_change_the_order_of_the_others(conversation: str, servers: int) -> None:
    """So a conversation stays, or moves to the new server; and without a server it moves to its next one."""
    more = rank_servers(conversation, servers + 1)
    assert [place for place in more if place != servers] == rank_servers(conversation, servers)


def test_each_server_has_its_share_and_a_new_one_takes_no_more_than_that() -> None:
    for servers in range(1, 9):
        first = [rank_servers(conversation, servers)[0] for conversation in CONVERSATIONS]
        fair = len(CONVERSATIONS) / servers
        assert all(0.8 * fair < first.count(place) < 1.2 * fair for place in range(servers))
        more = [rank_servers(conversation, servers + 1)[0] for conversation in CONVERSATIONS]
        moved = [now for before, now in zip(first, more, strict=True) if now != before]
        assert set(moved) == {servers}
        assert 0.8 < len(moved) / (len(CONVERSATIONS) / (servers + 1)) < 1.2


def test_what_the_first_server_had_is_divided_among_the_others() -> None:
    seconds = [order[1] for order in (rank_servers(one, 4) for one in CONVERSATIONS) if order[0] == 0]
    assert all(0.7 * len(seconds) / 3 < seconds.count(place) < 1.3 * len(seconds) / 3 for place in (1, 2, 3))
