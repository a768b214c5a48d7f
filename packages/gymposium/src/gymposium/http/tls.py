"""The TLS context that HTTP clients share, because creating one takes longer than a request."""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpx


def get_tls_context(*, trust_env: bool = True) -> ssl.SSLContext:
    """Return the context that httpx creates for a client, for its argument `verify`.

    With `trust_env`, the environment variables SSL_CERT_FILE and SSL_CERT_DIR may name the certificates."""
    named = tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")) if trust_env else ()
    return _create_context(named)


@cache
def _create_context(named: tuple[str | None, ...]) -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=bool(named))
