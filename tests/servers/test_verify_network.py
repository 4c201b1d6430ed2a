"""A hostile setup.py finds no network while it is built, and the package index is reached."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from goldpan.execution.network import REQUESTS
from tests.git_repositories import REPO
from tests.layouts import Layout, Projects
from tests.package_index import Index, write_wheel
from tests.verifying import needs_isolation

SETUP = Path(__file__).with_name("hostile_setup.txt").read_text(encoding="utf-8")
"""The setup.py of a project that looks for a network."""


def own_address() -> str:
    """Return the address of this machine in its network, 127.0.0.1 where it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, suppress(OSError):
        client.connect(("198.51.100.1", 9))  # this sends nothing
        return str(client.getsockname()[0])
    return "127.0.0.1"


@pytest.fixture
def hosts() -> Iterator[dict[str, object]]:
    """What a hostile project looks for: servers of this machine, and what clouds have."""
    with ExitStack() as stack:

        def listening(family: int, address: tuple[str, int] | str) -> int:
            server = stack.enter_context(socket.socket(family))
            server.bind(address)
            server.listen()
            return 0 if family == socket.AF_UNIX else int(server.getsockname()[1])

        v4 = [(host, listening(socket.AF_INET, (host, 0)))
              for host in dict.fromkeys(("127.0.0.1", own_address()))]  # fmt: skip
        v6: list[tuple[str, int]] = []
        with suppress(OSError):
            v6.append(("::1", listening(socket.AF_INET6, ("::1", 0))))
        abstract = f"goldpan-{uuid4().hex}"
        listening(socket.AF_UNIX, f"\0{abstract}")
        servers = [line.split()[1] for line in Path("/etc/resolv.conf").read_text().splitlines()
                   if line.startswith("nameserver ")]  # fmt: skip
        yield {
            "v4": [*v4, ("169.254.169.254", 80)],
            "v6": [*v6, ("fd00:ec2::254", 80)],
            "names": ["pypi.org", "metadata.google.internal"],
            "dns": servers,
            "abstract": abstract,
        }


@needs_isolation
@pytest.mark.timeout(600)
def test_a_hostile_setup_finds_nothing_and_packages_come_from_all_sources(
    tmp_path: Path, hosts: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual index, another one on 127.0.0.1, and a folder; with the network it finds all."""
    web, folder = tmp_path / "web", tmp_path / "folder"
    for place, name in ((web, "goldpan_of_web"), (folder, "goldpan_of_folder")):
        place.mkdir()
        write_wheel(place, name)
    code = "import goldpan_of_web, goldpan_of_folder\n\n"
    files = {"setup.py": SETUP, "hosts.json": json.dumps(hosts)}
    project = Projects(tmp_path, ["hostile"], {"hostile": Layout(files, head=code)})
    logs = tmp_path / "workspace" / "verification" / REPO / "1-1"
    with Index(web) as index:
        monkeypatch.setenv("UV_INDEX", f"{os.environ.get('UV_INDEX', '')} {index.url}")
        monkeypatch.setenv("UV_FIND_LINKS", str(folder))
        record = project.verify("bubblewrap")["hostile"]
        assert record.proof.verdict == "verified", (logs / "build.log").read_text()
        assert "goldpan-of-web==1" in record.environment["packages"]
        assert "goldpan-of-folder==1" in record.environment["packages"]
        assert record.environment["network"] == "index"
        assert "127.0.0.1" in record.environment["hosts"]
        tried = {f"{host}:{port}" for host, port in hosts["v4"]}  # type: ignore[attr-defined]
        assert tried <= set(record.environment["refused"])
        requests = [json.loads(line) for line in (logs / REQUESTS).read_text().splitlines()]
        passed = {request["place"] for request in requests if request["outcome"] == "passed"}
        assert f"127.0.0.1:{index.port}" in passed
        assert not passed & tried
        full = project.verify("bubblewrap", "full")["hostile"]
    assert full.proof.verdict == "does-not-build"
    assert full.environment["network"] == "full"
    log = (logs / "build.log").read_text()
    reached = json.loads(log.partition("reached: ")[2].splitlines()[0])
    assert {"127.0.0.1", own_address(), "abstract socket"} <= set(reached)
