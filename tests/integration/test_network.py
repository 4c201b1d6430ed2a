"""Building reaches the hosts of the package index and nothing else, whatever foreign code asks."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import UsageError
from goldpan.execution.command import CommandLimits, IsolationError, SandboxCommand
from goldpan.execution.isolation import Container, NoIsolation
from goldpan.execution.network import Proxy, is_public, open_network, open_proxy
from goldpan.execution.packages import configured_index, file_places, place_of
from goldpan.execution.recipe import RunRecipe, load_recipes
from tests.package_index import Index, write_wheel

PUBLIC = "93.184.216.34"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "pytest")
    with Index(folder) as running:
        yield running


@pytest.fixture
def proxy(index: Index, tmp_path: Path) -> Iterator[Proxy]:
    place = ("127.0.0.1", index.port)
    with open_proxy({place}, {place}, tmp_path / "log") as running:
        yield running


def ask(proxy: Proxy, *requests: str) -> bytes:
    """Return all that comes back on one connection."""
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(30)
        client.connect(str(proxy.socket))
        client.sendall("".join(requests).encode())
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def noted(log: Path) -> list[list[str]]:
    return [list(json.loads(line).values()) for line in log.read_text().splitlines()]


def test_the_index_is_reached_by_both_kinds_of_request(
    index: Index, proxy: Proxy, tmp_path: Path
) -> None:
    reply = ask(proxy, f"GET {index.url}/pytest/ HTTP/1.1\r\nAccept: text/html\r\n\r\n")
    assert b"pytest-1-py3-none-any.whl" in reply
    place = f"127.0.0.1:{index.port}"
    tunnel = ask(
        proxy,
        f"CONNECT {place} HTTP/1.1\r\n\r\n",
        "GET /simple/pytest/ HTTP/1.0\r\nHost: x\r\n\r\n",
    )
    assert tunnel.startswith(b"HTTP/1.1 200 ")
    assert b"pytest-1-py3-none-any.whl" in tunnel
    assert noted(tmp_path / "log") == [["GET", place, "passed"], ["CONNECT", place, "passed"]]
    assert not proxy.refused


def test_what_is_still_connected_when_building_is_stopped_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as client:
        with open_proxy((), (), tmp_path / "log") as proxy:
            client.settimeout(30)
            client.connect(str(proxy.socket))
            client.sendall(b"GET http://127.0.0.1:1/ HTTP/1.1\r\n")
            ask(proxy, "x\r\n\r\n")  # until the one before is served, too
        assert client.recv(1) == b""
    assert not caplog.records


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:1", "localhost:PORT", "2130706433:PORT", "0x7f.1:PORT", "[::1]:PORT",
     "[::ffff:127.0.0.1]:PORT", "0.0.0.0:PORT", "169.254.169.254:80", "127.0.0.1.:1",
     "example.org:443", "metadata:80"],
)  # fmt: skip
def test_no_other_place_is_reached_however_it_is_written(
    index: Index, proxy: Proxy, target: str, tmp_path: Path
) -> None:
    target = target.replace("PORT", str(index.port))
    for request in (f"CONNECT {target}", f"GET http://{target}/", f"GET http://127.0.0.1@{target}"):
        reply = ask(proxy, f"{request} HTTP/1.1\r\nHost: 127.0.0.1:{index.port}\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 403 "), request
    assert {outcome for *_, outcome in noted(tmp_path / "log")} == {"refused"}
    assert len(proxy.refused) == 1
    assert index.asked == []


@pytest.mark.parametrize(
    "request_line", ["POST URL", "PUT URL", "GET /simple/", "GET https://127.0.0.1:PORT/", "GET",
                     "CONNECT", "CONNECT 127.0.0.1:x", "GET http://[:PORT/", "\x00 \xff \n"],
)  # fmt: skip
def test_what_is_no_request_to_an_index_goes_nowhere(
    index: Index, proxy: Proxy, request_line: str
) -> None:
    line = request_line.replace("URL", f"{index.url}/pytest/").replace("PORT", str(index.port))
    assert ask(proxy, f"{line} HTTP/1.1\r\n\r\n")[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403")
    assert index.asked == []


def test_a_request_names_no_other_host_behind_the_same_address(index: Index, proxy: Proxy) -> None:
    """Neither in its head, nor in a second request behind the first."""
    first = f"GET {index.url}/pytest/ HTTP/1.1\r\nHost: inner\r\nProxy-Host: inner\r\n\r\n"
    assert b" 200 " in ask(proxy, first, "GET /secret HTTP/1.1\r\nHost: inner\r\n\r\n")
    folded = f"GET {index.url}/pytest/ HTTP/1.1\r\nA: b\nHost: inner\r\n\r\n"
    assert b" 400 " in ask(proxy, folded)
    assert index.asked == [(f"127.0.0.1:{index.port}", "/simple/pytest/")]


def resolve_in_turn(patch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let each resolution give the next address, the last of them for good."""
    turns = iter((*addresses[:-1], *[addresses[-1]] * 99))

    def resolve(host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        address = (next(turns), port)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address)]

    patch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.parametrize("first", [PUBLIC, "10.0.0.5"])
@pytest.mark.parametrize("then", ["127.0.0.1", "169.254.169.254", "10.0.0.6", "::1", "fd00::1"])
def test_a_name_that_leads_elsewhere_later_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    place = ("index.test", 443)
    resolve_in_turn(monkeypatch, first, then)
    with open_proxy({place}, {place}, tmp_path / "log") as proxy:
        assert b" 403 " in ask(proxy, "CONNECT index.test:443 HTTP/1.1\r\n\r\n")
        assert proxy.refused == {"index.test:443"}
    assert noted(tmp_path / "log") == [["CONNECT", "index.test:443", "refused address"]]


def test_an_index_of_ones_own_network_is_reached_and_other_hosts_there_are_not(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, files = ("own.test", index.port), ("files.test", index.port)
    resolve_in_turn(monkeypatch, "127.0.0.1")
    request = f"GET http://{{}}.test:{index.port}/simple/pytest/ HTTP/1.1\r\n\r\n"
    with open_proxy({own}, {own}, tmp_path / "log") as proxy:
        assert b" 200 " in ask(proxy, request.format("own"))
    resolve_in_turn(monkeypatch, PUBLIC, "127.0.0.1")
    with open_proxy({own, files}, {own}, tmp_path / "log") as proxy:
        assert b" 403 " in ask(proxy, request.format("files"))
    assert index.asked == [(f"own.test:{index.port}", "/simple/pytest/")]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::", "0.0.0.0", "10.1.2.3", "fe80::1%2",
                                     "fd00::1", "169.254.1.1", "100.64.0.1", "224.0.0.1",
                                     "::ffff:10.1.2.3", "::ffff:127.0.0.1", "ff02::1"])  # fmt: skip
def test_addresses_of_ones_own_network_are_not_public(address: str) -> None:
    assert not is_public(address)
    assert is_public(PUBLIC)
    assert is_public("2606:4700::1111")


def test_a_name_that_nobody_knows_is_unreachable_and_not_refused(tmp_path: Path) -> None:
    place = ("index.invalid", 443)
    with open_proxy({place}, {place}, tmp_path / "log") as proxy:
        assert b" 502 " in ask(proxy, "CONNECT index.invalid:443 HTTP/1.1\r\n\r\n")
    assert noted(tmp_path / "log") == [["CONNECT", "index.invalid:443", "unreachable"]]
    assert not proxy.refused


class Outer:
    """A proxy through which alone a network reaches the web; it answers all itself."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.heads: list[str] = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        for _ in range(2):
            connection, _ = self.socket.accept()
            with closing(connection):
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(1 << 16)
                self.heads.append(head.decode())
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                if not head.startswith(b"CONNECT"):
                    connection.sendall(b"outer")


def test_the_proxy_of_the_machine_is_gone_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It resolves the names, which this machine may not know."""
    outer = Outer()
    address = f"http://u:p%40@127.0.0.1:{outer.socket.getsockname()[1]}"
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, address)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "none.test")
    places = {("index.invalid", 443), ("index.invalid", 80)}
    with open_proxy(places, places, tmp_path / "log") as proxy:
        assert (
            ask(proxy, "CONNECT index.invalid:443 HTTP/1.1\r\n\r\n") == b"HTTP/1.1 200 OK\r\n\r\n"
        )
        assert ask(proxy, "GET http://index.invalid/a?b HTTP/1.1\r\n\r\n").endswith(b"outer")
        assert b" 403 " in ask(proxy, "CONNECT other.invalid:443 HTTP/1.1\r\n\r\n")
    outer.thread.join(30)
    outer.socket.close()
    targets = [head.split(" HTTP/")[0] for head in outer.heads]
    assert targets == ["CONNECT index.invalid:443", "GET http://index.invalid:80/a?b"]
    assert all("Proxy-Authorization: Basic dTpwQA==\r\n" in head for head in outer.heads)
    for address in ("socks5://127.0.0.1:9", "http://127.0.0.1:port", "http://[::1"):
        monkeypatch.setenv("https_proxy", address)
        problem = rf"\({address.partition(':')[0]}://\) is not one of HTTP"
        with pytest.raises(UsageError, match=problem), open_proxy((), (), tmp_path / "log"):
            pass


def test_the_settings_of_uv_name_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("links", "mirror"):
        (tmp_path / folder).mkdir()
    assert configured_index({}).addresses == ("https://pypi.org/simple",)
    index = configured_index(
        {
            "UV_DEFAULT_INDEX": "lab=https://u:p@own.test/simple",
            "UV_INDEX": f"https://a.test/x=y  local=file://{tmp_path}/mirror",
            "UV_FIND_LINKS": "links,https://links.test/page.html",
        }
    )
    assert index.addresses == (
        "https://u:p@own.test/simple", "https://a.test/x=y", "https://links.test/page.html"
    )  # fmt: skip
    assert index.folders == (tmp_path / "mirror", tmp_path / "links")
    assert index.variables == {
        "UV_DEFAULT_INDEX": "lab=https://u:p@own.test/simple",
        "PIP_INDEX_URL": "https://u:p@own.test/simple",
        "UV_INDEX": f"https://a.test/x=y local=file://{tmp_path}/mirror",
        "PIP_EXTRA_INDEX_URL": f"https://a.test/x=y file://{tmp_path}/mirror",
        "UV_FIND_LINKS": f"{tmp_path}/links,https://links.test/page.html",
        "PIP_FIND_LINKS": f"{tmp_path}/links https://links.test/page.html",
    }


def test_an_index_says_where_its_files_lie(tmp_path: Path) -> None:
    write_wheel(tmp_path, "pytest")
    with Index(tmp_path, "https://files.test/p/") as index:
        own = ("127.0.0.1", index.port)
        assert file_places([index.url]) == {own, ("files.test", 443)}
        assert file_places([f"{index.url}/moved"]) == {own, ("localhost", index.port)}
    with Index(tmp_path, "http://10.0.0.6/p/") as index:
        assert file_places([index.url]) == {("127.0.0.1", index.port)}
    assert file_places(["http://127.0.0.1:1/simple"]) == set()


@pytest.mark.parametrize("address", ["ftp://x/simple", "https:///simple", "https://u:pw@x:y/"])
def test_an_address_that_is_none_is_told_without_its_password(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a package index") as caught:
        place_of(address)
    assert "pw" not in str(caught.value)


@pytest.fixture
def python_recipe() -> RunRecipe:
    return next(recipe for recipe in load_recipes() if recipe.name == "python")


def engine(folder: Path, patch: pytest.MonkeyPatch, name: str, lacking: str = "") -> Path:
    """Put a container engine on PATH that notes how it is called and runs nothing."""
    log = folder / "calls"
    program = folder / name
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "--end--" >> {log}\n'
        f"case $1 in inspect) echo exited;; run) printf '{lacking}';; esac\n"
    )
    program.chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return log


def runs(log: Path) -> list[Sequence[str]]:
    calls = [call.strip("\n").split("\n") for call in log.read_text().split("--end--\n")]
    return [call for call in calls if call[0] == "run"]


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_a_container_that_builds_has_no_network_but_the_socket(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    python_recipe: RunRecipe,
    index: Index,
) -> None:
    log = engine(tmp_path, monkeypatch, name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    container, command = Container(name, "image"), SandboxCommand(["uv", "pip"], tmp_path)
    with open_network("index", container, python_recipe, tmp_path / "log") as network:
        container.run(network.through(command), CommandLimits(60), tmp_path / "output")
        assert network.proxy is not None
        sock = str(network.proxy.socket)
        assert network.described() == {"network": "index", "hosts": ["127.0.0.1"]}
    (_, call) = runs(log)
    assert call[call.index("--network") + 1] == "none"
    assert f"{sock}:{sock}:ro" in call
    assert f"{tmp_path}/wheels:{tmp_path}/wheels:ro" in call
    begin = call.index("python3")
    assert [*call[begin + 1 : begin + 3], *call[begin + 4 :]] == ["-I", "-S", sock, "uv", "pip"]
    with open_network("full", container, python_recipe, tmp_path / "log") as network:
        container.run(network.through(command), CommandLimits(60), tmp_path / "output")
        assert network.described() == {"network": "full"}
    call = runs(log)[-1]
    assert call[call.index("--network") + 1] == "bridge"
    assert call[-2:] == ["uv", "pip"]


def test_an_image_without_python_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_recipe: RunRecipe
) -> None:
    engine(tmp_path, monkeypatch, "podman", lacking="python3")
    with (
        pytest.raises(IsolationError, match="has no python3"),
        open_network("index", Container("podman", "x"), python_recipe, tmp_path / "log"),
    ):
        pass


def test_without_isolation_the_record_says_that_all_is_reached(
    tmp_path: Path, python_recipe: RunRecipe
) -> None:
    with open_network("index", NoIsolation(), python_recipe, tmp_path / "log") as network:
        assert network.described() == {"network": "full"}
