"""Settings of a chat service: its address, the environment variable with its key, its prices and limits."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from gymposium.errors import BadOption
from gymposium_agents.engines.secrets import remove_secret

OPENAI_URL = "https://api.openai.com/v1"
SEPARATOR = "|"
"""The text between several addresses or variables."""
DialectName = Literal["chat", "messages", "responses"]
_OFFICIAL: dict[DialectName, tuple[str, str]] = {
    "chat": (OPENAI_URL, "OPENAI_API_KEY"),
    "messages": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "responses": (OPENAI_URL, "OPENAI_API_KEY"),
}
"""The address of each dialect's author, and the variable with its key."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_EFFORT = re.compile("[a-z_]{1,20}")
_PRICES = re.compile(r"(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, in any currency."""

    prompt: float
    completion: float

    @classmethod
    def parse(cls, text: str) -> Prices:
        """Parse prices written as `IN/OUT`, such as `0.15/0.60`. Raises `BadOption` for any other text."""
        prices = _PRICES.fullmatch(text)
        if prices is None:
            raise BadOption(
                f"Invalid prices={text!r}. Write the prices per million input and output tokens as IN/OUT: 0.15/0.60"
            )
        return cls(float(prices[1]), float(prices[2]))

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price for these numbers of tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of a service, with one key."""

    base_url: str
    key: str | None
    """The environment variable that holds the key, as in `ApiSettings`."""
    default_key: str
    """The variable if `key` is None, unless the server is on this machine."""

    @property
    def variable(self) -> str | None:
        """The environment variable with the key, read for each request, or None if no key is sent."""
        return self.key or (None if self.is_local else self.default_key)

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def read_key(self) -> str | None:
        """Return the key from the environment, or None if no key is sent. The caller must use it immediately and not
        store it.

        Raises `BadOption` if a required key is missing from the environment or malformed."""
        if self.variable is None:
            return None
        key = os.environ.get(self.variable, "").strip()
        if not key:
            other = "" if self.key else ", or name another variable with key=NAME"
            raise BadOption(
                f"{self.base_url} requires a key. Put it into the environment variable {self.variable}{other}."
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            # a header cannot contain it, and the library's error about that would contain the key
            raise BadOption(
                f"The environment variable {self.variable} does not contain a valid key: a key is a single word."
            )
        return key


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The connection settings for one model of a chat service. They contain the name of the environment variable with
    the key, never the key.

    Raises `BadOption` with the fix for an invalid setting."""

    model: str
    base_url: str = ""
    """The service's address up to `/v1`, or to the path that replaces it, as in its documentation. `/v1` is appended to
    an address without a path. Several addresses are separated by `|`. Empty: the address of
    the dialect's author."""
    key: str | None = None
    """The environment variable that holds the key. None: that of the dialect's author, or no key for a server on this
    machine.
    Several variables are separated by `|`: one for each address, or several for a single address."""
    prices: Prices | None = None
    """Prices for computing costs, or None if costs are unknown."""
    rpm: int | None = None
    """Maximum number of requests started per minute, including retries, evenly spread. None for no limit."""
    at_once: int = 16
    """Maximum number of requests in flight."""
    timeout: float = 300.0
    """Time limit per attempt in seconds, from sending to the last byte."""
    retries: int = 6
    """Number of retries after rate limits, server errors, timeouts and lost connections."""
    seed: bool = True
    """Whether to send a seed with each request. Some services refuse the field."""
    limit: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The field that limits the length of a reply. None: `max_completion_tokens` for OpenAI, else `max_tokens`. If the
    service refuses that field, the other one is used."""
    own_temperature: bool = False
    """Whether to leave the temperature to the service. Some models refuse the field."""
    max_cost: float | None = None
    """The cost after which no more requests are sent, in the currency of the prices. None for no cap."""
    system: str | None = None
    """A system prompt that precedes the messages, or None."""
    top_p: float | None = None
    """The probability mass to sample from, or None to leave it to the service."""
    reasoning_effort: str | None = None
    """How much the model thinks, such as `low`, or None to leave it to the service."""
    thinking_budget: int | None = None
    """The number of tokens that the model may think, in the dialect `messages`. None to leave it to the service."""
    dialect: DialectName = "chat"
    """The form of requests and answers."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BadOption("Name the model: api:MODEL")
        if self.dialect not in _OFFICIAL:
            raise BadOption(f"Invalid dialect={self.dialect!r}. Use {', '.join(_OFFICIAL)}.")
        object.__setattr__(self, "base_url", self.base_url or _OFFICIAL[self.dialect][0])
        urls, keys = self.base_url.split(SEPARATOR), [] if self.key is None else self.key.split(SEPARATOR)
        object.__setattr__(self, "base_url", SEPARATOR.join(map(_check_url, urls)))
        if not all(map(_VARIABLE.fullmatch, keys)):
            # the value may be the key, so the message does not repeat it
            raise BadOption("key= must be the name of the environment variable with the key, never the key.")
        if min(len(urls), len(keys)) > 1 and len(urls) != len(keys):
            raise BadOption(
                f"base_url= has {len(urls)} addresses, but key= has {len(keys)} variables. Name one "
                f"variable, or one for each address."
            )
        for name in ("rpm", "at_once", "timeout", "max_cost"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadOption(f"Invalid {name}={value}. Use a number greater than 0.")
        if self.max_cost is not None and self.prices is None:
            raise BadOption(
                f'max_cost= requires prices. Add prices=IN/OUT per million tokens, or a line \'"{self.model}" = '
                f"\"IN/OUT\"' under [prices] in the user's file gymposium.toml."
            )
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise BadOption(f"Invalid top_p={self.top_p}. Use a number above 0, up to 1.")
        if self.reasoning_effort is not None and not _EFFORT.fullmatch(self.reasoning_effort):
            raise BadOption(f"Invalid reasoning_effort={self.reasoning_effort!r}. Use a word such as low or high.")
        if self.limit not in (None, "max_tokens", "max_completion_tokens"):
            raise BadOption(f"Invalid limit={self.limit!r}. Use max_tokens or max_completion_tokens.")
        if self.limit is not None and self.dialect != "chat":
            raise BadOption(f"limit= is only for dialect=chat. Omit it with dialect={self.dialect}.")
        if self.thinking_budget is not None and self.dialect != "messages":
            raise BadOption("thinking_budget= is only for dialect=messages. Use reasoning_effort= instead.")
        if self.thinking_budget is not None and self.thinking_budget < 1:
            raise BadOption(f"Invalid thinking_budget={self.thinking_budget}. Use 1 or more.")
        if self.retries < 0:
            raise BadOption(f"Invalid retries={self.retries}. Use 0 or more.")

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The addresses with their keys, used in turn."""
        urls = self.base_url.split(SEPARATOR)
        keys = [None] if self.key is None else self.key.split(SEPARATOR)
        count = max(len(urls), len(keys))
        default = _OFFICIAL[self.dialect][1]
        pairs = zip(urls * (count // len(urls)), keys * (count // len(keys)), strict=True)
        return tuple(Endpoint(url, key, default) for url, key in pairs)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables with the keys that are sent."""
        return tuple(dict.fromkeys(one.variable for one in self.endpoints if one.variable is not None))

    def remove_keys(self, text: str) -> str:
        """Return a text without the keys."""
        for endpoint in self.endpoints:
            text = remove_secret(text, endpoint.read_key())
        return text

    @property
    def decoding(self) -> dict[str, str | float]:
        """The settings that change the replies, other than the temperature and the limits."""
        names = ("system", "top_p", "reasoning_effort", "thinking_budget")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _check_url(text: str) -> str:
    """Return the address without a trailing slash, and with `/v1` if it has no path. Raises `BadOption`."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadOption(
            f"base_url={text!r} is not an address ({error}). Write one such as http://127.0.0.1:8000/v1"
        ) from None
    if parts.username or parts.password or parts.query or parts.fragment:
        # such an address may contain a key, so the message does not repeat it
        raise BadOption(
            "base_url= must be an address without a user, a password, a query or a fragment, because it is written "
            "to records. Set key= to the environment variable with the key."
        )
    if parts.scheme not in ("http", "https") or not host:
        raise BadOption(f"Invalid base_url={text!r}. Write an address such as http://127.0.0.1:8000/v1")
    path = parts.path.rstrip("/")
    for end in ("/chat/completions", "/messages", "/responses"):
        if path.endswith(end):
            raise BadOption(f"Invalid base_url={text!r}. Omit {end}, which is appended automatically.")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
