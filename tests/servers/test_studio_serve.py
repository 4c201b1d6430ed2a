"""A Label Studio server of one's own: where it listens, what it lets in, how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path

import httpx
import pytest

from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.serve import OWNER, Running, check_port, serve
from goldpan.core.errors import UsageError
from goldpan.core.result import Line, blocks_of
from tests.keyboard import terminal
from tests.studio import PEOPLE, free_port


def listening(port: int) -> set[str]:
    """Return the addresses, as the kernel writes them, at which a port is listened to."""
    addresses = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.rpartition(":")[2], 16) == port:
                addresses.add(address.rpartition(":")[0])
    return addresses


def test_a_server_to_which_annotators_sign_up(
    tmp_path: Path, installed: Path, prepared: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(prepared, directory)
    port = free_port()
    with serve(installed, directory, port) as run:
        assert listening(port) == {"0100007F"}  # 127.0.0.1 alone
        assert not run.exposed
        found = directory / "running.json"  # by which other commands find it
        assert found.stat().st_mode & 0o077 == 0
        with pytest.raises(UsageError, match="already in use"):
            check_port(port)
        with httpx.Client(base_url=run.server.url, trust_env=False, timeout=300) as client:
            page = client.get(run.invitation)
            form = {"email": "dora@example.org", "password": "long-enough-1"}
            form |= {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
            assert client.post("/user/signup/", data=form).status_code == 403
            assert client.post(run.invitation, data=form).status_code == 302
        assert sign_in(run, form["email"], form["password"]) == 302
        assert sign_in(run, OWNER, run.owner.password) == 302
        assert sign_in(run, OWNER, "a guess") == 200
        with Studio(run.server) as studio:
            addresses = [user.email for user in studio.users()]
        assert addresses == [OWNER, *PEOPLE, "dora@example.org"]
        for secret in (run.owner.password, run.owner.token, run.invitation):
            assert secret not in repr(run)
        assert "sentry" not in page.text.lower().replace("sentry_dsn", "")
    assert listening(port) == set()
    assert not found.exists()
    assert (directory / "accounts.json").stat().st_mode & 0o077 == 0
    assert directory.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_server_ends_with_its_command(
    tmp_path: Path, installed: Path, prepared: Path, number: int
) -> None:
    """A service manager stops it, or its terminal is closed."""
    shutil.copytree(prepared, tmp_path / "lab" / "label-studio")
    port, variables = free_port(), {**os.environ, "GOLDPAN_LABEL_STUDIO_VENV": str(installed)}
    words = ("annotate", "serve", "--port", str(port), "--workspace", "lab")
    with terminal(*words, folder=tmp_path, environment=variables) as screen:
        screen.until("annotators sign up")
        screen.kill(number)
        assert listening(port) == set()
    assert not (tmp_path / "lab" / "label-studio" / "running.json").exists()


def sign_in(run: Running, address: str, password: str) -> int:
    """Return the status with which the server answers to a password: 302 where it is right."""
    with httpx.Client(base_url=run.address, trust_env=False, timeout=300) as client:
        client.get("/user/login/")
        form = {"email": address, "password": password}
        form |= {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return client.post("/user/login/", data=form).status_code


def test_colleagues_reach_a_server_at_its_host(
    tmp_path: Path, installed: Path, prepared: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(prepared, directory)
    port = free_port()
    with serve(installed, directory, port, "0.0.0.0") as run:
        assert listening(port) == {"00000000"}
        assert run.exposed
        shown = " ".join(block.text for block in blocks_of(run) if isinstance(block, Line))
        assert "encrypted" in shown
        own = run.invitation.replace(socket.gethostname(), "127.0.0.2")
        assert httpx.get(own, trust_env=False, timeout=300).status_code == 200
