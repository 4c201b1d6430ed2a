"""The network of building: the package index alone, or all that this machine reaches."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from goldpan.core.errors import UsageError
from goldpan.execution.command import IsolationError, SandboxCommand
from goldpan.execution.isolation import Isolation
from goldpan.execution.packages import PackageIndex, Place, configured_index, file_places, place_of
from goldpan.execution.recipe import RunRecipe

# An HTTP proxy on a Unix socket, through which isolated code reaches a few places and no other.
#
# Names are resolved on this side and the connection goes to the address that was checked, so no
# name leads elsewhere afterwards (DNS rebinding). Addresses that are not public are refused, but
# for those that a configured index had when the proxy was opened.

_HEAD_SECONDS, _CONNECT_SECONDS = 60, 30
_MOST_CONNECTIONS, _MOST_REQUESTS, _MOST_REFUSED = 128, 10_000, 20
_NOT_PASSED = (b"host", b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding",
               b"content-length", b"upgrade", b"expect")  # fmt: skip


class _ProxyRefusalError(Exception):
    """A request is answered with a status, and goes nowhere."""


@dataclass(slots=True)
class Proxy:
    """An open proxy, and the requests to it."""

    places: frozenset[Place]
    own: frozenset[str]
    """Addresses that are not public and yet may be connected to."""
    log: Path
    """The file of the first 10,000 requests: a line of JSON each with the method, the place and the
    outcome. Paths are left out, as they may hold a password."""
    socket: Path = Path()
    refused: set[str] = field(default_factory=set)
    """The first places to which requests were refused."""
    _requests: int = 0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_CONNECTIONS))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        ended = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        # Where building is stopped, asyncio of Python 3.11 would print that this was canceled.
        with suppress(*ended, asyncio.CancelledError), closing(writer):
            async with self._slots:
                async with asyncio.timeout(_HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                try:
                    await self._answer(head, reader, writer)
                except _ProxyRefusalError as error:
                    writer.write(b"HTTP/1.1 %b\r\nConnection: close\r\n" % str(error).encode())
                    writer.write(b"Content-Length: 0\r\n\r\n")
                    await writer.drain()

    async def _answer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *lines = head[:-4].split(b"\r\n")
        try:
            method, target, _ = first.decode("ascii").split(" ")
            is_tunnel = method == "CONNECT"
            place = place_of(f"https://{target}" if is_tunnel else target)
            if not is_tunnel and urlsplit(target).scheme != "http":
                raise ValueError
        except (ValueError, UsageError):
            raise _ProxyRefusalError("400 Bad Request") from None
        if any(b"\n" in line or b"\r" in line for line in lines):
            raise _ProxyRefusalError("400 Bad Request")
        if place not in self.places or method not in ("CONNECT", "GET", "HEAD"):
            self._note(method, place, "refused")
            raise _ProxyRefusalError("403 Forbidden")
        through = _outer_proxy("https" if is_tunnel else "http", place[0])
        if through is None:
            found = await _resolve(*place)
            addresses = [address for address in found if is_public(address) or address in self.own]
            if found and not addresses:
                self._note(method, place, "refused address")
                raise _ProxyRefusalError("403 Forbidden")
        else:
            addresses = [through[0]]
        for address in addresses:
            with suppress(OSError):
                async with asyncio.timeout(_CONNECT_SECONDS):
                    outer = await asyncio.open_connection(address, (through or place)[1])
                break
        else:
            self._note(method, place, "unreachable")
            raise _ProxyRefusalError("502 Bad Gateway")
        with closing(outer[1]):
            self._note(method, place, "passed")
            authorization = through[2] if through else b""
            if is_tunnel:
                if through:
                    await _tunnel(place, authorization, *outer)
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await asyncio.gather(_copy(reader, outer[1]), _copy(outer[0], writer))
            else:  # what follows the head is not passed on: it could name another host
                url = urlsplit(target)
                path = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
                address = f"http://{_authority(place)}{path}" if through else path
                kept = [line for line in lines if _is_passed(line)]
                kept += [b"Host: %b" % _authority(place).encode(), b"Connection: close"]
                begin = f"{method} {address} HTTP/1.1".encode()
                outer[1].write(b"\r\n".join((begin, *kept)) + b"\r\n" + authorization + b"\r\n")
                await _copy(outer[0], writer)

    def _note(self, method: str, place: Place, outcome: str) -> None:
        self._requests += 1
        if outcome.startswith("refused") and len(self.refused) < _MOST_REFUSED:
            self.refused.add(_authority(place)[:300])
        if self._requests <= _MOST_REQUESTS:
            request = {"method": method[:20], "place": _authority(place)[:300], "outcome": outcome}
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(request) + "\n")


@contextmanager
def open_proxy(places: Iterable[Place], named: Iterable[Place], log: Path) -> Iterator[Proxy]:
    """Open a proxy to these places, in a thread of its own.

    Those among them that are `named` may have addresses that are not public. Raises
    `IsolationError` where it cannot be opened, `UsageError` where the network is behind a proxy of
    a kind that it cannot go through.
    """
    for scheme in ("http", "https"):
        _outer_proxy(scheme, "")
    proxy = Proxy(frozenset(places), frozenset(_own_addresses(named)), log)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        with tempfile.TemporaryDirectory(prefix="goldpan-") as folder:
            proxy.socket = Path(folder, "socket")
            start = asyncio.start_unix_server(proxy.serve, proxy.socket)
            try:
                server = asyncio.run_coroutine_threadsafe(start, loop).result()
            except OSError as error:
                raise IsolationError(
                    f"{proxy.socket} cannot be opened: {error}",
                    "Set TMPDIR to a short path of a local disk",
                ) from None
            try:
                yield proxy
            finally:
                asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def is_public(address: str) -> bool:
    """Return whether an address is one of the internet, not of a private network."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast


async def _resolve(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _own_addresses(named: Iterable[Place]) -> Iterator[str]:
    for host, port in named:
        with suppress(OSError, UnicodeError):
            for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                if not is_public(str(entry[4][0])):
                    yield str(entry[4][0])


def _authority(place: Place) -> str:
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_passed(line: bytes) -> bool:
    name = line.partition(b":")[0].strip().lower()
    return line[:1] not in b" \t" and name not in _NOT_PASSED and not name.startswith(b"proxy-")


def _outer_proxy(scheme: str, host: str) -> tuple[str, int, bytes] | None:
    """Return the proxy through which this machine reaches a host, and the header it wants."""
    proxies = urllib.request.getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or urllib.request.proxy_bypass(host):
        return None
    address = address if "://" in address else f"http://{address}"
    try:
        url = urlsplit(address)
        port = url.port or 80
    except ValueError:  # a port or an IPv6 address that is none
        url, port = urlsplit(""), 0
    if url.scheme != "http" or not url.hostname:
        raise UsageError(
            f"The proxy of this machine ({address.partition('://')[0]}://) is not one of HTTP, so "
            "building cannot go through it",
            "Give --network full",
        )
    secret = base64.b64encode(unquote(f"{url.username}:{url.password or ''}").encode())
    header = b"Proxy-Authorization: Basic %b\r\n" % secret if url.username else b""
    return url.hostname, port, header


async def _tunnel(
    place: Place, authorization: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    authority = _authority(place).encode()
    writer.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n" % (authority, authority))
    writer.write(authorization + b"\r\n")
    async with asyncio.timeout(_CONNECT_SECONDS):
        reply = await reader.readuntil(b"\r\n\r\n")
    if reply.split(b" ")[1:2] != [b"200"]:
        raise _ProxyRefusalError("502 Bad Gateway")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while content := await reader.read(1 << 16):
            writer.write(content)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)  # until what they held is closed


NetworkName = Literal["index", "full"]
REQUESTS = "network.jsonl"
"""The file in which each request of building stands."""
_FORWARD = Path(__file__).with_name("forward.py")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY")
_CERTIFICATES = (
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust/extracted",
    "/etc/pki/java", "/etc/ca-certificates/extracted", "/etc/crypto-policies",
)  # fmt: skip
"""The public files of a machine's certificates, with private keys beside them; an image has its
own."""


@dataclass(frozen=True, slots=True)
class BuildNetwork:
    """How commands that build get packages."""

    variables: dict[str, str]
    """Settings of the package index, for uv and pip."""
    readable: tuple[Path, ...]
    """Paths that they have to read for it: certificates, and indexes that are folders."""
    python: str
    """The interpreter that forwards to the proxy."""
    proxy: Proxy | None
    """None: they have the network of this machine."""

    def through(self, command: SandboxCommand) -> SandboxCommand:
        """Return a command with what it needs to get packages."""
        readable = (*command.readable, *self.readable)
        if self.proxy is None:
            return replace(command, readable=readable, network=True)
        forward = (self.python, "-I", "-S", str(_FORWARD), str(self.proxy.socket))
        return replace(
            command,
            arguments=(*forward, *command.arguments),
            readable=(*readable, _FORWARD, self.proxy.socket),
        )

    def described(self) -> dict[str, Any]:
        """Return what a record says of it."""
        if self.proxy is None:
            return {"network": "full"}
        reached = {"network": "index", "hosts": sorted({host for host, _ in self.proxy.places})}
        return {**reached, "refused": sorted(self.proxy.refused)} if self.proxy.refused else reached


@contextmanager
def open_network(
    name: NetworkName, isolation: Isolation, recipe: RunRecipe, log: Path
) -> Iterator[BuildNetwork]:
    """Open the network of building; each request is noted in `log`.

    Without isolation that is all of the machine's, whatever `name` says. Raises `IsolationError`
    where an image has no Python to forward requests by.
    """
    index = configured_index(os.environ) if recipe.is_python else PackageIndex({}, (), ())
    certificates = [path for path in map(Path, _CERTIFICATES) if isolation.is_own_system]
    variables, readable = (
        dict(index.variables),
        [*filter(Path.exists, certificates), *index.folders],
    )
    authorities = os.environ.get("SSL_CERT_FILE", "")
    if recipe.is_python and authorities:
        variables["SSL_CERT_FILE"] = authorities
        if Path(authorities).is_file():  # a lab's own
            readable.append(Path(authorities))
    if name == "full" or isolation.name == "none":
        both = (*_PROXIES, *map(str.lower, _PROXIES)) if recipe.is_python else ()
        variables |= {name: os.environ[name] for name in both if name in os.environ}
        yield BuildNetwork(variables, tuple(readable), "", None)
        return
    python = os.path.realpath(sys.executable) if isolation.is_own_system else "python3"
    if isolation.is_own_system:
        base = Path(python).parent.parent
        readable += () if base.is_relative_to("/usr") else (base,)
    elif isolation.lacking([python]):
        raise IsolationError(
            f"The image has no {python}, through which building reaches the package index",
            f"Take an image with {python}, or give --network full",
        )
    named = {place_of(address) for address in (*index.addresses, *recipe.fields.index)}
    with open_proxy(named | file_places(index.addresses), named, log) as proxy:
        yield BuildNetwork(variables, tuple(readable), python, proxy)
