"""What commands that build may reach: the package index alone, or all that this machine reaches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from goldpan.execution.command import Command, IsolationError
from goldpan.execution.isolation import Isolation
from goldpan.execution.package_index import (
    PackageIndex,
    configured_index,
    file_places,
    place_of,
)
from goldpan.execution.proxy import Proxy, open_proxy
from goldpan.execution.recipe import Recipe

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
"""What is public of a machine's certificates; private keys lie beside them."""


@dataclass(frozen=True, slots=True)
class BuildNetwork:
    """How commands that build get packages."""

    variables: dict[str, str]
    """Settings of the package index, for uv and pip."""
    readable: tuple[Path, ...]
    """What they have to see for it: certificates, and indexes that are folders."""
    python: str
    """The interpreter that forwards to the proxy."""
    proxy: Proxy | None
    """None: they have the network of this machine."""

    def through(self, command: Command) -> Command:
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
    name: NetworkName, isolation: Isolation, recipe: Recipe, log: Path
) -> Iterator[BuildNetwork]:
    """Give what building reaches, for as long as it lasts; each request is noted in `log`.

    Without isolation that is all, whatever `name` says. Raises `IsolationError` where an image has
    no Python to forward requests by.
    """
    index = configured_index(os.environ) if recipe.is_python else PackageIndex({}, (), ())
    variables, readable = dict(index.variables), [*_certificates(isolation), *index.folders]
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


def _certificates(isolation: Isolation) -> list[Path]:
    """Return what shows the certificates of this machine's authorities; an image has its own."""
    return [path for path in map(Path, _CERTIFICATES) if isolation.is_own_system and path.exists()]
