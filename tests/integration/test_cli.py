"""The command line as people and programs meet it: in a process of its own, against a twin."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.console import ENTRY, PAN, TOKEN, run, sentence
from tests.mining import SLUICE
from tests.program import MINE
from tests.twin import Fault, Faults, Limits, Twin, synthetic_world


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(synthetic_world()) as twin:
        yield twin


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, twin: Twin) -> Path:
    """Return a folder whose default workspace was mined and paired."""
    folder = tmp_path_factory.mktemp("home")
    done = run(*mining(twin), folder=folder, GITHUB_TOKEN=TOKEN)
    assert (done.code, "over GraphQL" in done.out) == (0, True), done.err
    assert "Nothing is missing." in done.out
    assert "Predicted: " in done.err
    done = run("pair", folder=folder)
    assert (done.code, done.err) == (0, "")
    assert f"{SLUICE}: 17 fix pairs by rules default" in done.out
    return folder


def mining(twin: Twin, *names: str) -> list[str]:
    repos = [word for name in names or (SLUICE,) for word in ("--repo", name)]
    return ["mine", *repos, "--api-url", twin.url]


def test_json_alone_on_stdout(home: Path, twin: Twin) -> None:
    done = run(*mining(twin), "--json", folder=home, GH_TOKEN=TOKEN)
    (mined,) = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert (mined["repo"], mined["via"], mined["failure"]) == (SLUICE, "graphql", None)
    assert (mined["tables"]["entries"], mined["coverage"]["gaps"]) == (60, [])
    made = {}
    for command in ("status", "pair", "normalize"):
        done = run(command, "--json", folder=home)
        made[command] = json.loads(done.out)
        assert (done.code, done.err) == (0, "")
    assert made["status"][0]["finished"] is True
    assert made["pair"][0]["pairs"] == 17
    assert made["normalize"]["tables"][SLUICE]["entries"] == 60


def test_status_and_why(home: Path) -> None:
    assert "Nothing is missing." in run("status", "--repo", SLUICE.upper(), folder=home).out
    done = run("why", f"{SLUICE}#23", folder=home)
    assert done.code == 0
    parts = (
        "pull, closed, merged, by marlow-k",
        "\n\nReferences (",
        "\n\nFix pairs (1)\nPairs by rules default\n",
        "keyword: prospector/sluice#23 -> prospector/sluice#22 (fix, negated, in body, line 1)",
        "issue #22 closed, though its text says not fixed, by prospector/sluice#23",
        "body: This does not fix #22, but it helps.",
        "run-0001.zst@",
    )
    assert [part for part in parts if part not in done.out] == []
    done = run("why", f"https://github.com/{SLUICE}/issues/49", "--json", folder=home)
    output = json.loads(done.out)
    assert (output["repo"], output["number"], output["entry"]["kind"]) == (SLUICE, 49, "issue")
    assert [(pair["pull"], pair["signals"]) for pair in output["pairs"]] == [
        (50, ["closed_by_commit"])
    ]
    assert all(output[name] for name in ("references", "records"))


def test_the_token_is_nowhere(tmp_path: Path) -> None:
    with Twin(synthetic_world(), limits=Limits(tokens=frozenset({TOKEN}))) as twin:
        bad = run(*mining(twin), folder=tmp_path, GITHUB_TOKEN="ghp_NotThisOne0007")
        sentence(bad._replace(err=bad.err.splitlines()[-1]), 1, "401", "GITHUB_TOKEN")
        done = [run(*mining(twin), folder=tmp_path, GITHUB_TOKEN=f"ghp_NotThisOne0007,{TOKEN}")]
        done.append(run(*mining(twin), "--json", folder=tmp_path, GITHUB_TOKEN=TOKEN))
    assert [process.code for process in done] == [0, 0]
    root = tmp_path / "goldpan-workspace"
    records = Archive(WorkspaceLayout(root).raw(SLUICE)).records
    contents = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    contents += [record.read() + repr(record.meta).encode() for record in records]
    contents += [repr(pq.read_table(path).to_pylist()).encode() for path in root.rglob("*.parquet")]
    contents += [(process.out + process.err).encode() for process in (bad, *done)]
    assert len(records) > 10
    assert not any(re.search(b"SecretOfTheMountain|NotThisOne", content) for content in contents)


def test_exit_code_3_and_what_is_missing(tmp_path: Path) -> None:
    world = synthetic_world()
    (tmp_path / "goldpan-workspace").mkdir()
    (tmp_path / "goldpan-workspace" / "goldpan.toml").write_text("retries = 1")
    with Twin(world, Faults(chosen=[Fault("SOMETHING_WENT_WRONG", number=9)])) as twin:
        done = run(*mining(twin), folder=tmp_path, GITHUB_TOKEN=TOKEN)
        result = run(*mining(twin), "--json", folder=tmp_path, GITHUB_TOKEN=TOKEN)
        assert run("status", folder=tmp_path).code == 3
        assert "Entry failed: " in run("why", f"{SLUICE}#9", folder=tmp_path).out
        twin.faults = Faults()
        mended = run(*mining(twin), folder=tmp_path, GITHUB_TOKEN=TOKEN)
    assert (done.code, "1 missing:" in done.out, "#9 entry failed: " in done.out) == (3, True, True)
    (gap,) = json.loads(result.out)[0]["coverage"]["gaps"]
    assert (result.code, gap["number"], gap["part"]) == (3, 9, "entry")
    assert (mended.code, "Nothing is missing." in mended.out) == (0, True)


def test_one_of_two_repositories_is_not_there(tmp_path: Path, twin: Twin) -> None:
    names = ("prospector/nuggets", PAN)
    done = run(*mining(twin, *names), "--json", folder=tmp_path, GITHUB_TOKEN=TOKEN)
    assert json.loads(done.err)["error"]["remedy"].startswith("Check the spelling")
    failures = {result["repo"]: result["failure"] for result in json.loads(done.out)}
    assert failures[PAN] is None
    assert "prospector/nuggets does not exist" in failures["prospector/nuggets"]


def test_dry_runs_keep_nothing(tmp_path: Path, twin: Twin) -> None:
    names = tmp_path / "names.txt"
    text = f"{SLUICE} # main\n\n# two\nhttps://github.com/{PAN}.git\n {SLUICE}\n"
    names.write_text(text, encoding="utf-8-sig", newline="\r\n")
    arguments = ["--repo-file", str(names), "--api-url", twin.url, "--dry-run"]
    people = run("mine", *arguments, folder=tmp_path, GITHUB_TOKEN=TOKEN)
    done = run(*arguments, "--json", folder=tmp_path, GITHUB_TOKEN=TOKEN, program=MINE)
    costs = {result["repo"]: result["predicted"] for result in json.loads(done.out)}
    assert (people.code, done.code, done.err) == (0, 0, "")
    assert list(costs) == [SLUICE, PAN]
    for name, cost in costs.items():
        assert cost["points"] >= cost["requests"] > 1
        assert name in people.out
    assert not (tmp_path / "goldpan-workspace").exists()


def test_hostile_text_is_printed_not_obeyed(tmp_path: Path) -> None:
    hostile = {"type": "issue", "issue": ENTRY, "events": []}
    pull = {
        **ENTRY,
        "number": 2,
        "body": "Fixes #1 [red]\x1b]0;own\x07[/red]",
        "user": {"login": "eve\x1b[2J\u202e\nNothing is missing.", "type": "User"},
    }
    pull |= {"base": {"ref": "main", "sha": "b"}, "head": {"ref": "x", "sha": "a"}}
    entries = [hostile, {"type": "pull", "pull": pull, "events": []}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, entries)))
    done = run("mine", "--repo", "a/b", "--from-backup", "b.jsonl", folder=tmp_path)
    assert (done.code, "Nothing is missing." in done.out) == (0, True)
    run("pair", "--rules", "unconfirmed", folder=tmp_path)
    for number in (1, 2):
        done = run("why", f"a/b#{number}", "--rules", "unconfirmed", folder=tmp_path)
        assert done.code == 0
        red = "⟨U+001B⟩[31mred ⟨U+009B⟩1m [bold]loud[/bold] [/nope] ⟨U+0007⟩"
        assert red in done.out
        assert "Fixes #1 [red]⟨U+001B⟩]0;own⟨U+0007⟩[/red]" in done.out
        assert not set("\x1b\x07\x9b\u202e") & set(done.out)
        words = ("why", f"a/b#{number}", "--rules", "unconfirmed", "--json")
        plain = run(*words, folder=tmp_path)
        assert json.loads(plain.out)["number"] == number
        assert not set("\x1b\x07\x9b\u202e") & set(plain.out)
    assert "by eve⟨U+001B⟩[2J⟨U+202E⟩ Nothing is missing., 2024" in done.out


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds what bad arguments name, and `w`, a good workspace."""
    folder = tmp_path_factory.mktemp("shelf")
    for name, content in {
        "file": b"",
        "cut.jsonl.xz": lzma.compress(b"x" * 999)[:-20],
        "false.jsonl.gz": b"not gzip",
        "good.jsonl": json.dumps({"type": "issue", "issue": ENTRY}).encode(),
    }.items():
        (folder / name).write_bytes(content)
    for name, text in {"toml": "via =", "key": "color = 1", "secret": f"token = '{TOKEN}'"}.items():
        (folder / name).mkdir()
        (folder / name / "goldpan.toml").write_text(text)
    (folder / "empty").mkdir()
    arguments = ("mine", "--repo", "a/b", "--from-backup", "good.jsonl", "--workspace", "w")
    assert run(*arguments, folder=folder).code == 0
    return folder


BAD: list[tuple[str, int, tuple[Any, ...]]] = [

    ("mine --repo ../x", 2, ("'../x'", "OWNER/NAME")),
    ("mine --repo a/b --via graphql", 2, ("without a token", "GITHUB_TOKEN", "--via rest")),
    ("mine --repo a/b --api-url gopher://x", 2, ("gopher://x", "https://HOST/api/v3")),
    ("mine --repo a/b --api-url http://[x", 2, ("http://[x", "https://HOST/api/v3")),
    ("mine --repo a/b --api-url https://me:pw@x", 2, ("credentials", "GITHUB_TOKEN")),
    ("status --workspace toml", 2, ("goldpan.toml", "not valid TOML")),
    ("status --workspace secret", 2, ("goldpan.toml", "GITHUB_TOKEN")),
    ("mine --repo a/b --from-backup good.jsonl --workspace file", 2, ("file", "not a workspace")),
    ("mine --repo a/b --from-backup good.jsonl --workspace /proc/x", 1, ("/proc", "--workspace")),
    ("mine --repo a/b --from-backup cut.jsonl.xz", 2, ("cut.jsonl.xz:1", "cut off", "copy")),
    ("mine --repo a/b --from-backup false.jsonl.gz", 2, ("false.jsonl.gz:1", "copy it again")),
    ("mine --repo a/b --from-backup empty", 2, ("empty holds no .json",)),
    ("mine --repo a/b --repo a/c --from-backup good.jsonl", 2, ("exactly one --repo",)),
    ("mine --repo a/b --from-backup good.jsonl --dry-run", 2, ("Leave out --dry-run",)),
    *((f"{name} --workspace empty", 1, ("holds no repository", "mine --repo OWNER/NAME"))
      for name in ("status", "pair", "normalize")),
    *((f"{name} --repo x/y --workspace w", 1, ("x/y", "goldpan --workspace w mine --repo x/y"))
      for name in ("status", "pair", "normalize")),

]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "words"), BAD, ids=[line for line, _, _ in BAD])
def test_one_sentence_for_bad_input(
    shelf: Path, line: str, code: int, words: tuple[str, ...]
) -> None:
    done = run(*line.split(), folder=shelf)
    sentence(done, code, *words)
    assert done.out == ""
    assert TOKEN not in done.err


@pytest.mark.parametrize("part", ["magic", "meta", "table"])
def test_damage_is_told(shelf: Path, tmp_path: Path, part: str) -> None:
    shutil.copytree(shelf / "w", tmp_path / "w")
    workspace = WorkspaceLayout(tmp_path / "w")
    path = workspace.raw("a/b") / "run-0001.zst"
    remedy = "goldpan --workspace w check --repair"
    if part == "table":
        path, remedy = workspace.table("a/b", "entries"), "goldpan --workspace w normalize"
    data = bytearray(path.read_bytes())
    data[{"magic": 0, "meta": 12, "table": -1}[part]] ^= 0xFF
    path.write_bytes(data)
    for line in ("status --workspace w", "why a/b#1 --workspace w"):
        sentence(run(*line.split(), folder=tmp_path), 1, path.name, remedy)
