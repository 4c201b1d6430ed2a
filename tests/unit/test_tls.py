"""What clients verify servers by."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import certifi
import pytest

from goldpan.core.http import shared_context


def serials(context: ssl.SSLContext) -> list[str]:
    """Return the serial numbers of what is trusted; the context keeps no order."""
    return sorted(str(authority["serialNumber"]) for authority in context.get_ca_certs())


def test_clients_share_what_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    usual = shared_context()
    assert shared_context() is usual
    authorities = tmp_path / "authorities.pem"
    shutil.copy(certifi.where(), authorities)
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities))
    other = shared_context()
    assert other is not usual
    assert serials(other) == serials(usual)
