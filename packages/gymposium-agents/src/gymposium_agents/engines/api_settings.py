"""Where a chat service is, what holds its key, and how much may be asked of it."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from gymposium.errors import BadOption

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_KEY = "OPENAI_API_KEY"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_PRICES = re.compile(r"(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in whatever currency."""

    prompt: float
    completion: float

    @classmethod
    def parse(cls, text: str) -> Prices:
        """Read `IN/OUT`: `0.15/0.60`."""
        found = _PRICES.fullmatch(text)
        if found is None:
            raise BadOption(f"prices={text!r}: write the prices of a million tokens in and out as IN/OUT: 0.15/0.60.")
        return cls(float(found[1]), float(found[2]))

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """How one model of a chat service is reached. Holds the name of the environment variable with the key, never
    the key.

    Raises `BadOption` with what to write for what cannot be right."""

    model: str
    base_url: str = OPENAI_URL
    """As the service's own documentation gives it, up to `/v1` or what stands in its place. An address without a path
    gets `/v1`."""
    key: str | None = None
    """The environment variable that holds the key. None: `OPENAI_API_KEY`, or no key for a server on this machine."""
    prices: Prices | None = None
    rpm: int | None = None
    """Requests begun in a minute, at most, evenly spread; retries count."""
    at_once: int = 16
    """Requests under way at once, at most."""
    timeout: float = 300.0
    """Seconds for one attempt, from sending to the last byte."""
    retries: int = 6
    """Further attempts after rate limits, server errors, timeouts and lost connections."""
    seed: bool = True
    """Whether to send a seed with each request; some services refuse the field."""
    own_temperature: bool = False
    """Leave the temperature to the service: some models refuse the field."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BadOption("Name the model:  api:MODEL")
        object.__setattr__(self, "base_url", _checked_url(self.base_url))
        if self.key is not None and not _VARIABLE.fullmatch(self.key):
            # what was given may be the key itself, so it is not repeated
            raise BadOption("key= takes the name of the environment variable that holds the key, never the key itself.")
        for name, value in (("rpm", self.rpm), ("at_once", self.at_once), ("timeout", self.timeout)):
            if value is not None and not value > 0:
                raise BadOption(f"{name}={value}: give a number greater than 0.")
        if self.retries < 0:
            raise BadOption(f"retries={self.retries}: give 0 or more.")

    @property
    def variable(self) -> str | None:
        """The environment variable that the key is read from for each request; None where none is sent."""
        return self.key or (None if self.is_local else DEFAULT_KEY)

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def read_key(self) -> str | None:
        """The key, from the environment; None where none is sent. It is to be used at once and kept nowhere.

        Raises `BadOption` where a key is wanted and the environment has none that could be one."""
        if self.variable is None:
            return None
        key = os.environ.get(self.variable, "").strip()
        if not key:
            other = "" if self.key else ", or name another variable with key=NAME"
            raise BadOption(
                f"{self.base_url} wants a key: put it into the environment variable {self.variable}{other}."
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            # a header cannot hold it, and who tries to send it says so with the key in the message
            raise BadOption(f"The environment variable {self.variable} holds no key: it is not one word.")
        return key


def _checked_url(text: str) -> str:
    """The address without a slash at its end, with `/v1` where it has no path."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadOption(f"base_url={text!r} is not an address ({error}).") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        # such an address may hold a key, so it is not repeated
        raise BadOption(
            "base_url= takes an address without a user, a password, a query or a fragment: it stands in records. Keys "
            "come from the environment variable that key= names."
        )
    if parts.scheme not in ("http", "https") or not host:
        raise BadOption(f"base_url={text!r}: write an address such as http://127.0.0.1:8000/v1.")
    path = parts.path.rstrip("/")
    if path.endswith("/chat/completions"):
        raise BadOption(f"base_url={text!r}: leave out /chat/completions, which is added to it.")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
