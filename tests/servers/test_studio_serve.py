"""A Label Studio server of one's own: where it listens, what it lets in, how it ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.serve import OWNER, check_port, serve
from goldpan.core.errors import UsageError
from tests.places import ROOT
from tests.studio import PEOPLE, QUIET, free_port


def listening(port: int) -> set[str]:
    """Return the addresses, as the kernel writes them, at which a port is listened to."""
    addresses = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.rpartition(":")[2], 16) == port:
                addresses.add(address.rpartition(":")[0])
    return addresses


def test_a_server_for_a_user_who_has_none(tmp_path: Path, installed: Path, prepared: Path) -> None:
    directory = tmp_path / "data"
    shutil.copytree(prepared, directory)
    port = free_port()
    environment = {"GOLDPAN_LABEL_STUDIO_VENV": str(installed)}
    with serve(directory, port, ["dora@example.org"], QUIET, environment=environment) as run:
        assert listening(port) == {"0100007F"}  # 127.0.0.1 alone
        with Studio(run.server) as studio:
            addresses = [user.email for user in studio.users()]
        assert addresses == [OWNER, *PEOPLE, "dora@example.org"]
        with pytest.raises(UsageError, match="in use"):
            check_port(port)
        with httpx.Client(base_url=run.server.url, trust_env=False, timeout=300) as client:
            page = client.get("/user/login/")
            token = client.cookies["csrftoken"]
            person = run.accounts[-1]
            form = {"email": person.address, "password": person.password}
            form |= {"csrfmiddlewaretoken": token}
            assert client.post("/user/login/", data=form).status_code == 302
            signup = {**form, "email": "mallory@example.org", "password": "long-enough-1"}
            assert client.post("/user/signup/", data=signup).status_code == 403
        for secret in (person.password, person.token):
            assert secret not in repr(run)
        assert "sentry" not in page.text.lower().replace("sentry_dsn", "")
    assert listening(port) == set()
    assert (directory / "accounts.json").stat().st_mode & 0o077 == 0
    assert directory.stat().st_mode & 0o077 == 0


SERVING = """
import sys, time
from pathlib import Path
from goldpan.annotation.studio.serve import prepare, running
from tests.studio import PEOPLE, QUIET
place, directory = Path(sys.argv[1]), Path(sys.argv[2])
with running(place, directory, int(sys.argv[3]), prepare(place, directory, PEOPLE, QUIET)):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux alone ends it")
def test_a_server_ends_with_a_goldpan_that_is_killed(
    tmp_path: Path, installed: Path, prepared: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(prepared, directory)
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-c", SERVING, str(installed), str(directory), str(port)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as goldpan:
        assert goldpan.stdout is not None
        assert goldpan.stdout.readline() == b"up\n"
        assert listening(port)
        goldpan.kill()
    until = time.monotonic() + 300
    while listening(port):
        assert time.monotonic() < until
        time.sleep(0.1)
