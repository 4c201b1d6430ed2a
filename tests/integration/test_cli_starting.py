"""How work begins on the command line: init, doctor, config, open, logs, help, errors as JSON."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from contextlib import nullcontext
from pathlib import Path

import pytest

from goldpan import __version__
from goldpan.core.errors import UsageError
from goldpan.core.settings.config import repository_name
from goldpan.workspace.mining import named_repositories
from tests.console import NOWHERE, PAN, TOKEN, run, sentence
from tests.invoking import typed
from tests.places import ROOT
from tests.program import MINE
from tests.twin import Fault, Faults, Twin, synthetic_world

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (
            "numpy/numpy https://github.com/numpy/numpy https://www.github.com/numpy/numpy/"
            " https://github.com/numpy/numpy.git git@github.com:numpy/numpy.git"
            " https://github.com/numpy/numpy/issues/12?q=is%3Aopen#top"
            " http://ghe.example.org/numpy/numpy/pull/7/files",
            "numpy/numpy",
        ),
        (
            "numpy a/b/c https://github.com/numpy ../../etc https://gitlab.com/a/b"
            " git@codeberg.org:a/b.git",
            None,
        ),
    ],
)
def test_a_repository_may_be_named_by_any_of_its_addresses(texts: str, name: str | None) -> None:
    for text in texts.split() if name else ["", *texts.split()]:
        with nullcontext() if name else pytest.raises(UsageError):
            assert repository_name(text) == name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_command_on_a_page_can_be_typed(page: Path) -> None:
    """Pages whose commands need no other machine run them too, in `test_docs.py`."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for line in re.findall(r"^\$ ((?:.*\\\n)*.*)", block, re.M):
            command = re.split(r"[|;>]|&&", line.replace("\\\n", " "))[0]
            words = [
                word
                for word in shlex.split(command, comments=True)
                if not re.match(r"[A-Z_]+=", word)
            ]
            if words[0] == "goldpan" and "--plugin" not in words:  # run by `test_plugins.py`
                typed(*words[1:])


def test_init_makes_a_settings_file_that_holds_when_uncommented(tmp_path: Path) -> None:
    assert run("init", "lab", folder=tmp_path).code == 0
    file = tmp_path / "lab" / "goldpan.toml"
    text = file.read_text("utf-8")
    assert tomllib.loads(text) == {}
    settings = [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line]
    file.write_text("\n".join(settings), encoding="utf-8")
    output = json.loads(run("config", "show", "--workspace", "lab", "--json", folder=tmp_path).out)
    assert {"name": "retries", "value": "3", "source": "lab/goldpan.toml"} in output
    sentence(run("init", "lab", folder=tmp_path), 2, "lab/goldpan.toml", "already exists")
    plan = (tmp_path / "lab" / "plan.toml").read_text("utf-8").splitlines()
    assert [line for line in plan if "workspace =" in line] == ['workspace = "."']


def test_config_counts_tokens_and_names_sources(tmp_path: Path) -> None:
    done = run("config", "show", folder=tmp_path, GITHUB_TOKEN=TOKEN)
    assert "1 token " in done.out
    assert TOKEN not in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["api_url", NOWHERE, "environment"] in lines
    for name in ("since", "plugins"):
        assert [name, "default"] in lines


def test_doctor_tells_limits_and_what_lacks(tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        done = run(
            "doctor", "--json", folder=tmp_path, GITHUB_TOKEN=TOKEN, GOLDPAN_API_URL=twin.url
        )
    checks = {check["name"]: check for check in json.loads(done.out)}
    assert checks["GitHub"]["level"] == "ok"
    assert "5,000 of 5,000 left for REST" in checks["GitHub"]["message"]
    assert checks["git"]["level"] == "fail"  # no program is on this path
    assert done.code == 1
    assert TOKEN not in done.out + done.err


def test_doctor_on_a_bad_network_and_a_bad_token(tmp_path: Path) -> None:
    done = run("doctor", folder=tmp_path)
    assert f"FAIL  GitHub: {NOWHERE} does not answer" in done.out
    with Twin(synthetic_world(), Faults(chosen=[Fault("401", "rate_limit")])) as twin:
        done = run("doctor", folder=tmp_path, GITHUB_TOKEN=TOKEN, GOLDPAN_API_URL=twin.url)
    assert "does not accept the token. Make a new one" in done.out
    assert TOKEN not in done.out + done.err


@pytest.mark.parametrize(
    ("answer", "level", "message"),
    [
        ("git version 2.30.1 (Apple Git-130)", "note", "git version 2.30.1 (Apple Git-130)"),
        (
            "",
            "fail",
            "it does not report its version",
        ),  # as macOS has it before its tools are there
    ],
)
def test_doctor_reads_the_version_that_git_tells(
    tmp_path: Path, answer: str, level: str, message: str
) -> None:
    git = tmp_path / "git"
    git.write_text(f'#!/bin/sh\necho "{answer}"\n', encoding="utf-8")
    git.chmod(0o755)
    done = run("doctor", "--json", folder=tmp_path)
    checks = {check["name"]: check for check in json.loads(done.out)}
    assert (checks["git"]["level"], checks["git"]["message"]) == (level, message)


def test_a_log_holds_requests_and_messages_without_secrets(tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        command = ("--log-file", "run.log", "--quiet", "mine", "--repo", PAN)
        done = run(*command, folder=tmp_path, GITHUB_TOKEN=TOKEN, GOLDPAN_API_URL=twin.url)
    assert done.code == 0
    assert done.err == ""
    log = (tmp_path / "run.log").read_text("utf-8")
    assert f"{twin.url}/graphql" in log
    assert TOKEN not in log


def test_errors_are_json_where_json_was_asked_for(tmp_path: Path) -> None:
    done = run("status", "--json", folder=tmp_path)
    error = json.loads(done.err)["error"]
    assert done.code == error["exit_code"] == 2
    assert "There is no workspace" in error["problem"]
    assert "goldpan mine" in error["remedy"]
    for words in ("build qa --profil x --json", "nothing --json", "pair --json --engine cloud"):
        done = run(*words.split(), folder=tmp_path)
        error = json.loads(done.err)["error"]
        assert done.code == error["exit_code"] == 2, words
        assert error["remedy"].endswith("-h for help")
    done = run("--log-format", "json", "pair", "--engin", "ray", folder=tmp_path)
    assert json.loads(done.err)["problem"].startswith("Unknown option: --engin")


def test_options_of_the_program_are_taken_behind_the_command_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import sys\nfrom goldpan import register\nfrom goldpan.plugins import Rules\n"
        "register(Rules('mine', ('keyword',)))\nsys.stderr.write('loaded ')\n"
    )
    for words in (
        "status --plugin mine.py --log-file said.log --json",
        "status --plugin=mine.py --json --log-file=said.log",
        "--plugin mine.py status --json --log-file said.log",
    ):
        done = run(*words.split(), folder=tmp_path)
        loaded, _, error = done.err.partition("{")
        assert loaded == "loaded ", words
        assert "There is no workspace" in error
        assert "There is no workspace" in (tmp_path / "said.log").read_text()
        (tmp_path / "said.log").unlink()
    done = run("build", "qa", "--seed", "1", "--version", folder=tmp_path)
    assert (done.code, done.out) == (0, f"goldpan {__version__}\n")
    (tmp_path / "goldpan-workspace").mkdir()
    done = run("why", "--json", "--", "--quiet", folder=tmp_path)
    assert "'--quiet'" in json.loads(done.err)["error"]["problem"]
    done = run("status", "--json", "--plugin", folder=tmp_path)
    assert "requires an argument" in done.err + done.out
    done = run("--repo", "../x", "--quiet", "--json", folder=tmp_path, program=MINE)
    assert "'../x'" in json.loads(done.err)["error"]["problem"]


def test_open_names_the_newest_report(tmp_path: Path) -> None:
    sentence(run("open", "--no-browser", folder=tmp_path), 2, "HTML report", "goldpan report")
    report = tmp_path / "report.html"
    report.write_text("<p>", encoding="utf-8")
    assert run("open", "--no-browser", folder=tmp_path).out.strip() == report.as_uri()
    (tmp_path / "gone.html").symlink_to(tmp_path / "nowhere.html")
    (tmp_path / "folder.html").mkdir()
    assert run("open", "--no-browser", folder=tmp_path).out.strip() == report.as_uri()
    missing = run("open", "--no-browser", "--workspace", "MISSING", folder=tmp_path)
    sentence(missing, 2, "There is no workspace MISSING")


def test_a_mistyped_command_of_a_group_is_told_with_the_nearest(tmp_path: Path) -> None:
    done = run("evaluate", "runn", folder=tmp_path)
    assert (done.code, "'evaluate runn' (did you mean run?)" in done.err) == (2, True), done.err
    assert "no workspace lab" in run("--workspace", "lab", "status", folder=tmp_path).err
    done = run("--dry-run", "mine", folder=tmp_path)
    assert "Put the options of a command after it" in done.err


def test_words_of_another_program_are_not_goldpans_own(tmp_path: Path) -> None:
    """Goldpan as a library: the host's own `--quiet` and `--json` change nothing."""
    (tmp_path / "goldpan-workspace").mkdir()
    library = (
        "import sys; sys.argv = ['host', '--quiet', '--json', 'secret-word']; "
        "from goldpan.core.errors import UnknownNameError; "
        "from goldpan.core.terminal import complain; "
        "complain(UnknownNameError('There is no rule x', 'Choose default')); "
        "sys.exit(__import__('goldpan').Workspace().shows_progress)"
    )
    done = run(folder=tmp_path, program=library)
    assert done.code == 0
    assert done.err.startswith("Error: There is no rule x")
    assert "secret-word" not in done.err


def test_a_plugin_is_offered_with_the_command_that_was_given(tmp_path: Path) -> None:
    done = run("pair", "--rules", "mine", "--repo", "o/n", folder=tmp_path)
    assert "goldpan --plugin FILE.py pair --rules mine --repo o/n" in " ".join(done.err.split())


def test_lines_of_a_file_of_repositories_end_at_line_feeds_alone(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_bytes("# a \u2028form\x0cfeed\x85\r\no/n\r\n\no/m\n../x\n".encode())
    with pytest.raises(UsageError, match=r"names\.txt:5: "):
        named_repositories([], names)


def test_help_is_a_command_too(tmp_path: Path) -> None:
    for words in ((), ("build", "qa"), ("evaluate",)):
        asked = run("help", *words, folder=tmp_path)
        assert (asked.code, asked.out) == (0, run(*words, "-h", folder=tmp_path).out)
