"""What clients verify servers by, and their pauses between tries."""

from __future__ import annotations

import shutil
import ssl
import sys
from pathlib import Path

import certifi
import pytest

from goldpan.core.errors import UsageError
from goldpan.core.http import Backoff, jittered, shared_context


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


def test_a_socks_proxy_without_its_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(UsageError, match="pip install socksio"):
        shared_context()


def test_pauses_double_up_to_the_longest() -> None:
    pace = Backoff(0.5, 3.0)
    assert [pace.pause(failures) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert Backoff(1.0, 1e9).pause(10_000) == 1024.0, "very many failures do not overflow"


def test_chance_cuts_a_pause_by_at_most_half() -> None:
    pauses = [jittered(10.0) for _ in range(200)]
    assert all(5.0 <= pause <= 10.0 for pause in pauses)
    assert len(set(pauses)) > 100
