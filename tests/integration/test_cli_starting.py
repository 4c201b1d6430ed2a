"""How work begins on the command line: init, doctor, config, open, logs, help, errors as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldpan import __version__
from goldpan.core.errors import UsageError
from goldpan.workspace.mining import named_repositories
from tests.console import NOWHERE, PAN, TOKEN, run, sentence
from tests.program import MINE
from tests.twin import Fault, Faults, Twin, synthetic_world


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


def test_paths_need_no_utf8_locale(tmp_path: Path) -> None:
    folder = tmp_path / "Übung"
    folder.mkdir()
    issue = {
        "number": 1, "id": 1, "title": "It fails", "body": "Why?", "user": {"login": "al", "id": 1},
        "state": "open", "created_at": "2024-01-01T10:00:00Z", "updated_at": "2024-01-01T10:00:00Z",
        "html_url": "https://github.com/o/n/issues/1",
    }  # fmt: skip
    entry = {"type": "issue", "issue": issue, "events": [], "comments": []}
    (folder / "saved.jsonl").write_text(json.dumps(entry))
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for words in (["mine", "--from-backup", "saved.jsonl", "--repo", "o/n"], ["pair"], ["filter"]):
        done = subprocess.run(
            [sys.executable, "-m", "goldpan", *words],
            env={**os.environ, **ascii_alone},
            cwd=folder,
            capture_output=True,
            check=False,
        )
        assert done.returncode in (0, 3), done.stderr
        assert done.stdout.isascii()


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
    ("answer", "level"), [("git version 2.30.1 (Apple Git-130)", "note"), ("", "fail")]
)
def test_doctor_reads_the_version_that_git_tells(tmp_path: Path, answer: str, level: str) -> None:
    """On macOS it tells none before its tools are there."""
    git = tmp_path / "git"
    git.write_text(f'#!/bin/sh\necho "{answer}"\n', encoding="utf-8")
    git.chmod(0o755)
    done = run("doctor", "--json", folder=tmp_path)
    checks = {check["name"]: check for check in json.loads(done.out)}
    message = answer or "it does not report its version"
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


def test_lines_of_a_file_of_repositories_end_at_line_feeds_alone(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_bytes("# a \u2028form\x0cfeed\x85\r\no/n\r\n\no/m\n../x\n".encode())
    with pytest.raises(UsageError, match=r"names\.txt:5: "):
        named_repositories([], names)


def test_help_is_a_command_too(tmp_path: Path) -> None:
    for words in ((), ("build", "qa"), ("evaluate",)):
        asked = run("help", *words, folder=tmp_path)
        assert (asked.code, asked.out) == (0, run(*words, "-h", folder=tmp_path).out)
