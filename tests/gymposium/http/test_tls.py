"""HTTP clients share one TLS context."""

from __future__ import annotations

from pathlib import Path

import certifi
import pytest

from gymposium.http.tls import get_tls_context


def test_clients_share_a_context() -> None:
    assert get_tls_context() is get_tls_context()
    assert get_tls_context(trust_env=False) is get_tls_context(trust_env=False)


def test_environment_names_the_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = Path(certifi.where()).read_text(encoding="ascii")
    first = certificates[: certificates.index("-----END CERTIFICATE-----")] + "-----END CERTIFICATE-----\n"
    (tmp_path / "one.pem").write_text(first[first.index("-----BEGIN") :], encoding="ascii")
    before = get_tls_context()
    with monkeypatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
        assert len(get_tls_context().get_ca_certs()) == 1
        assert len(get_tls_context(trust_env=False).get_ca_certs()) > 1
    assert get_tls_context() is before
