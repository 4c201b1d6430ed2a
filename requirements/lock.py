"""Writes the locks: every version with its hashes, and no registry, so any mirror serves.

Run as `make lock`: versions in the locks stay, unless UPGRADE=--upgrade takes new ones. What it
needs is installed into a throwaway environment.

A package that comes as source alone is built where it is installed, with what is installed
already. `sources.toml` says which packages these are and what builds them; a lock that an empty
machine could not install is refused. `lock.py --check`, a part of `make check`, compares the locks
with it and needs no network.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"
SHIPPED = ROOT / "src" / "goldpan" / "locks"
SOURCES = REQUIREMENTS / "sources.toml"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ISOLATED = ("label-studio", "fasttext")
ENTRY = re.compile(r"^\S.*\n(?:[ \t].*\n)*", re.M)
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;]+)[^\\\n]*", re.M)
BUILDS = re.compile(r"(setuptools|wheel)==")
WITH_CUDA = re.compile(r"(torch|triton)==|(nvidia|cuda)-")
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(40, 4, -1)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
_ASK = """
import json, sys, setuptools.build_meta as backend
with open(sys.argv[1], "w") as file: json.dump(backend.get_requires_for_build_wheel(), file)
"""


@dataclass(frozen=True)
class Lock:
    """A lock, and what is installed before it."""

    path: Path
    before: tuple[Path, ...] = ()
    everywhere: bool = True
    """Whether it has to install on all of `PYTHONS`, not only on the first."""

    @property
    def name(self) -> str:
        """The name of its table in `sources.toml`."""
        return self.path.stem

    @property
    def digest(self) -> str:
        """What changes whenever a package or a version does."""
        pins = [match[0].strip() for match in PIN.finditer(self.path.read_text(encoding="utf-8"))]
        return sha256("\n".join(pins).encode()).hexdigest()[:16]

    def tools(self) -> dict[str, str]:
        """Return the versions of what builds its packages."""
        return {name: version for path in self.before for name, version in pins_of(path).items()}


def locks(requirements: Path = REQUIREMENTS, shipped: Path = SHIPPED) -> list[Lock]:
    """Return all locks but that of torch without CUDA, which comes from a folder."""
    demo, test, build = requirements / "demo.txt", requirements / "test.txt", shipped / "build.txt"
    return [
        Lock(demo),
        Lock(test, (demo,)),
        Lock(requirements / "torch.txt", (demo, test)),
        Lock(requirements / "docs.txt"),
        Lock(build),
        *(Lock(shipped / f"{name}.txt", (build,), everywhere=False) for name in ISOLATED),
    ]


def pins_of(lock: Path) -> dict[str, str]:
    """Return the versions that a lock holds, by the names of packages."""
    return dict(match.groups() for match in PIN.finditer(lock.read_text(encoding="utf-8")))


def problems(known: Sequence[Lock], sources: Mapping[str, Any]) -> Iterator[str]:
    """Say which locks an empty machine could not install; no network is needed."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    for lock in known:
        entry = sources.get(lock.name, {})
        if entry.get("digest") != lock.digest:
            yield f"{lock.path.name} is not as make lock wrote it: run make lock"
            continue
        tools = {canonicalize_name(name): version for name, version in lock.tools().items()}
        for package, needs in entry.get("packages", {}).items():
            for need in map(Requirement, needs):
                version = tools.get(canonicalize_name(need.name))
                if version is None or version not in need.specifier:
                    before = " or ".join(path.name for path in lock.before) or "no lock"
                    yield (
                        f"{lock.path.name}: {package} comes as source alone, and {before} holds "
                        f"no {need}, which builds it: add it to the dependency group build, or "
                        "replace the package"
                    )
        missing = set(PYTHONS if lock.everywhere else PYTHONS[:1]) - set(entry["pythons"])
        for python in sorted(missing):
            without = ", ".join(entry["without_wheel"][python])
            yield f"{lock.path.name}: no wheel for Python {python}: {without}"


def check() -> int:
    """Print what is wrong with the locks; return the exit code."""
    found = list(problems(locks(), tomllib.loads(SOURCES.read_text(encoding="utf-8"))))
    for problem in found:
        sys.stderr.write(f"{problem}\n")
    return bool(found)


def write(uv: str, more: list[str]) -> int:
    """Write all locks and what comes as source alone; return the exit code."""
    test, torch = REQUIREMENTS / "test.txt", REQUIREMENTS / "torch.txt"
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.txt"
        before = [each.read_text(encoding="utf-8") for each in (test, torch) if each.exists()]
        whole.write_text("".join(before), encoding="utf-8")
        project = ["pyproject.toml", "--group", "build"]
        _resolve(uv, whole, [*project, "--extra", "dev"], more)
        _resolve(uv, REQUIREMENTS / "demo.txt", [*project, "--constraint", str(whole)], more)
        found = ENTRY.findall(whole.read_text(encoding="utf-8"))
    # torch and CUDA's libraries are apart: see the Makefile.
    test.write_text("".join(each for each in found if not WITH_CUDA.match(each)), encoding="utf-8")
    torch.write_text("".join(each for each in found if WITH_CUDA.match(each)), encoding="utf-8")
    _resolve(uv, REQUIREMENTS / "docs.txt", ["requirements/docs.in"], more)
    for name in ISOLATED:
        _resolve(uv, SHIPPED / f"{name}.txt", [f"requirements/{name}.in"], more)
    entries = ENTRY.findall((SHIPPED / "label-studio.txt").read_text(encoding="utf-8"))
    tools = "".join(entry for entry in entries if BUILDS.match(entry))
    (SHIPPED / "build.txt").write_text(tools, encoding="utf-8")
    return write_sources(uv)


def write_sources(uv: str) -> int:
    """Find out what comes as source alone and what builds it; return the exit code of `check`."""
    lines = ["# What comes as source alone, and what builds it. make lock writes this file.\n"]
    for lock in locks():
        packages, without_wheel = _sources(uv, lock)
        pythons = [python for python in PYTHONS if not without_wheel[python]]
        lines.append(f"\n[{lock.name}]\ndigest = {json.dumps(lock.digest)}\n")
        lines.append(f"pythons = {json.dumps(pythons)}\n")
        lines += [
            f"packages.{json.dumps(name)} = {json.dumps(n)}\n" for name, n in packages.items()
        ]
        lines += [
            f'without_wheel."{python}" = {json.dumps(names)}\n'
            for python, names in without_wheel.items()
            if names
        ]
    SOURCES.write_text("".join(lines), encoding="utf-8")
    return check()


def _resolve(uv: str, lock: Path, sources: list[str], more: list[str]) -> None:
    """Have uv write a lock for all platforms; the versions that it holds already stay."""
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", PYTHONS[0]]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(lock)]
    subprocess.run([*command, *sources, *more], check=True, cwd=ROOT)  # noqa: S603


def _sources(uv: str, lock: Lock) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return what builds each package without any wheel, and those that lack one by Python."""
    with tempfile.TemporaryDirectory() as folder:
        listed, files = Path(folder) / "pins.txt", Path(folder) / "pylock.toml"
        pins = [match[0] for match in PIN.finditer(lock.path.read_text(encoding="utf-8"))]
        listed.write_text("\n".join(pins), encoding="utf-8")
        command = [uv, "pip", "compile", "--quiet", "--universal", "--no-deps", "--format"]
        command += ["pylock.toml", "--python-version", PYTHONS[0], "--output-file", str(files)]
        subprocess.run([*command, str(listed)], check=True)  # noqa: S603
        found = tomllib.loads(files.read_text(encoding="utf-8"))["packages"]
    packages: dict[str, list[str]] = {}
    without_wheel: dict[str, list[str]] = {python: [] for python in PYTHONS}
    for package in found:
        pythons = [python for python in PYTHONS if _lacks_wheel(package, python)]
        name = f"{package['name']}=={package['version']}"
        if pythons == list(PYTHONS):
            packages[name] = _needs(package["sdist"]["url"])
        else:
            for python in pythons:
                without_wheel[python].append(name)
    return packages, without_wheel


def _lacks_wheel(package: Mapping[str, Any], python: str) -> bool:
    from packaging.markers import Marker
    from packaging.tags import compatible_tags, cpython_tags
    from packaging.utils import parse_wheel_filename

    here = {"python_version": python, "python_full_version": f"{python}.0"}
    linux = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    if "marker" in package and not Marker(package["marker"]).evaluate({**here, **linux}):
        return False
    version, name = (3, int(python.partition(".")[2])), f"cp{python.replace('.', '')}"
    tags = {*cpython_tags(version, [name], PLATFORMS), *compatible_tags(version, name, PLATFORMS)}
    files = [wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())]
    return not any(parse_wheel_filename(file.replace("%2B", "+"))[3] & tags for file in files)


def _needs(address: str) -> list[str]:
    """Return the requirements that build a source distribution, a legacy setup.py's too."""
    with tempfile.TemporaryDirectory() as folder:
        with urllib.request.urlopen(address) as reply:  # noqa: S310 - as the index gave it
            data = io.BytesIO(reply.read())
        if address.endswith(".zip"):
            zipfile.ZipFile(data).extractall(folder)  # noqa: S202 - installed as it is
        else:
            with tarfile.open(fileobj=data) as archive:
                archive.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        file = root / "pyproject.toml"
        declared = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
        system = declared.get("build-system", {})
        needs = list(system.get("requires", ["setuptools"]))
        if "setuptools" in system.get("build-backend", "setuptools"):
            answer = Path(folder) / "needs.json"
            subprocess.run(  # noqa: S603 - our own question
                [sys.executable, "-c", _ASK, str(answer)],
                cwd=root,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            needs += json.loads(answer.read_text(encoding="utf-8"))
    return sorted(set(needs))


def main(arguments: list[str]) -> int:
    """Check the locks, or write them in an environment that has what this needs."""
    if arguments == ["--check"]:
        return check()
    if arguments[:1] == ["--with"]:
        uv, *more = arguments[1:]
        return write_sources(uv) if more == ["--sources"] else write(uv, more)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, uv = Path(folder, "bin", "python"), Path(folder, "bin", "uv")
        setuptools = f"setuptools=={pins_of(SHIPPED / 'build.txt')['setuptools']}"
        install = [python, "-m", "pip", "install", "--quiet", "uv", "packaging", setuptools]
        subprocess.run(install, check=True)  # noqa: S603
        again = [python, __file__, "--with", str(uv), *arguments]
        return subprocess.run(again, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
