"""What an extra installs is asked for by its name, which is ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldpan.code.languages import LANGUAGES
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.imports import DISTRIBUTION, EXTRAS, install_remedy, load
from goldpan.core.parallel.workers import map_in_sandbox
from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {"sklearn": "scikit-learn", "xgboost": "xgboost-cpu"}
INSTALL = re.compile(r"pip[x]? install (?:-\S+ )*[\"']*(goldpan[\w-]*)|(goldpan[\w-]*)\[[a-z]")


def test_everything_that_names_an_install_of_ours_names_ours() -> None:
    places = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml"]
    for folder, suffixes in (
        ("src", (".py", ".toml", ".jinja", ".md")),
        ("docs", (".md",)),
        ("examples", (".sbatch", ".md", ".sh", ".py")),
    ):
        places += [path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    for path in places:
        for match in INSTALL.finditer(path.read_text(encoding="utf-8")):
            assert (match[1] or match[2]) == DISTRIBUTION, (path, match[0])


def test_a_package_of_an_extra_is_one() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    extras = PROJECT["optional-dependencies"]
    for package, extra in EXTRAS.items():
        is_it = re.compile(rf"{PACKAGES.get(package, package.replace('_', '-'))}\b").match
        assert any(map(is_it, extras[extra])), package
        assert not any(map(is_it, PROJECT["dependencies"])), package


def test_every_grammar_is_in_the_base_or_an_extra() -> None:
    base = {
        re.match(r"[\w-]+", dependency)[0].replace("-", "_")  # type: ignore[index]
        for dependency in PROJECT["dependencies"]
    }
    for language in LANGUAGES:
        if language.grammar:
            assert language.grammar.package in base | EXTRAS.keys()


def test_what_is_missing_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as caught:
        load("matplotlib", "Drawing SVG or PNG")
    assert str(caught.value) == (
        "Drawing SVG or PNG needs matplotlib, which is not installed. "
        f'Run pip install -e "{ROOT}[plots]".'
    )


@pytest.mark.parametrize(
    ("record", "remedy"),
    [
        (None, 'Run pip install "goldpan-mining[plots]"'),
        ({"url": "https://files.example/goldpan.whl", "archive_info": {}}, '"goldpan-mining['),
        ({"url": "file:///gone/clone", "dir_info": {}}, '"goldpan-mining['),
        ({"url": ROOT.as_uri(), "dir_info": {}}, f'Run pip install "{ROOT}[plots]"'),
    ],
)
def test_an_extra_is_installed_from_where_goldpan_came(
    record: object, remedy: str, tmp_path: Path
) -> None:
    folder = tmp_path / "goldpan_mining-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {DISTRIBUTION}\nVersion: 0\n")
    if record is not None:
        (folder / "direct_url.json").write_text(json.dumps(record))
    code = "from goldpan.core.imports import install_remedy; print(install_remedy('matplotlib'))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert remedy in done.stdout.decode()


def read_without_grammar(text: str) -> int:
    """Fail as reading fails where a grammar is missing."""
    if text:
        raise UsageError(f"{text} needs more", install_remedy("tree_sitter_swift"))
    return 0


def test_a_missing_grammar_ends_the_work_instead_of_counting_as_a_crash() -> None:
    results = map_in_sandbox(read_without_grammar, ["", "Swift"], 1, 20.0)
    assert next(results) == 0
    with pytest.raises(GoldpanError, match=r"Swift needs more.*\[languages\]"):
        next(results)
