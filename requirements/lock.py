"""Writes the locks: every version with its hashes, and no registry, so any mirror serves.

Run as `make lock`: versions in the locks stay, unless UPGRADE=--upgrade takes new ones.
It needs uv, and installs it into a throwaway environment where it is missing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"
SHIPPED = ROOT / "src" / "goldpan" / "locks"
ISOLATED = ("label-studio", "fasttext")
ENTRY = re.compile(r"^\S.*\n(?:[ \t].*\n)*", re.M)
BUILDS = re.compile(r"(setuptools|wheel)==")
WITH_CUDA = re.compile(r"(torch|triton)==|(nvidia|cuda)-")


def resolve(uv: str, lock: Path, sources: list[str], more: list[str]) -> None:
    """Have uv write a lock for all platforms; the versions that it holds already stay."""
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(lock)]
    subprocess.run([*command, *sources, *more], check=True, cwd=ROOT)  # noqa: S603


def main(uv: str, more: list[str]) -> None:
    """Write all locks."""
    test, torch = REQUIREMENTS / "test.txt", REQUIREMENTS / "torch.txt"
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.txt"
        before = [each.read_text(encoding="utf-8") for each in (test, torch) if each.exists()]
        whole.write_text("".join(before), encoding="utf-8")
        project = ["pyproject.toml", "--group", "build"]
        resolve(uv, whole, [*project, "--extra", "dev"], more)
        resolve(uv, REQUIREMENTS / "demo.txt", [*project, "--constraint", str(whole)], more)
        found = ENTRY.findall(whole.read_text(encoding="utf-8"))
    # torch and CUDA's libraries are apart: see the Makefile.
    test.write_text("".join(each for each in found if not WITH_CUDA.match(each)), encoding="utf-8")
    torch.write_text("".join(each for each in found if WITH_CUDA.match(each)), encoding="utf-8")
    resolve(uv, REQUIREMENTS / "docs.txt", ["requirements/docs.in"], more)
    for name in ISOLATED:
        resolve(uv, SHIPPED / f"{name}.txt", [f"requirements/{name}.in"], more)
    entries = ENTRY.findall((SHIPPED / "label-studio.txt").read_text(encoding="utf-8"))
    tools = "".join(entry for entry in entries if BUILDS.match(entry))
    (SHIPPED / "build.txt").write_text(tools, encoding="utf-8")


if __name__ == "__main__":
    if found_uv := shutil.which("uv"):
        main(found_uv, sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            place = Path(folder) / "bin"
            subprocess.run([place / "python", "-m", "pip", "install", "-q", "uv"], check=True)  # noqa: S603
            main(str(place / "uv"), sys.argv[1:])
