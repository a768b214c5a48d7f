"""The socket of a server: addresses, names, and what is refused."""

from __future__ import annotations

import socket

import pytest

from gymposium.errors import BadOption
from gymposium.serving.listening import Listener


def test_port_0_takes_a_free_port() -> None:
    with Listener("127.0.0.1", 0) as listener:
        assert listener.port > 0
        assert listener.address == f"http://127.0.0.1:{listener.port}"
        assert listener.names == ("127.0.0.1", "127.0.0.1")


def test_the_first_given_name_stands_in_the_address() -> None:
    with Listener("0.0.0.0", 0, names=["games.example", "other"], token="s3cret") as listener:
        assert listener.address == f"http://games.example:{listener.port}"
        assert listener.names == (socket.gethostname(), "0.0.0.0", "games.example", "other")
    with Listener("0.0.0.0", 0, token="s3cret") as listener:
        assert listener.address == f"http://{socket.gethostname()}:{listener.port}"


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    try:
        listener = Listener("::1", 0)
    except BadOption as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    with listener:
        assert listener.address == f"http://[::1]:{listener.port}"


def test_other_machines_come_in_with_a_token_only() -> None:
    with pytest.raises(BadOption, match=r"so it needs a token\. Set the environment variable A_TOKEN"):
        Listener("0.0.0.0", 0, variable="A_TOKEN")


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("no such host", 0)])
def test_an_address_that_is_not_there_is_an_error(host: str, port: int) -> None:
    with pytest.raises(BadOption, match=r"cannot listen there .*Try --port 0"):
        Listener(host, port, token="s3cret")


def test_a_port_in_use_is_an_error() -> None:
    with Listener("127.0.0.1", 0) as listener, pytest.raises(BadOption, match="cannot listen there"):
        Listener("127.0.0.1", listener.port)
