"""A filtered workspace and datasets made by hand, for tests of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from goldpan.core.schemas.mined import COMMENTS, ENTRIES, REPOSITORIES
from goldpan.core.schemas.stages import PAIRS, REVISIONS, VERDICTS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.family import Family
from goldpan.filters.profile import Profile, criteria
from tests import examples
from tests.table_rows import put_rows, put_table

REPO = "prospector/sluice"
OTHER = "prospector/riffle"
PROFILE = Profile(
    "plain",
    "A profile for tests",
    ("length", "people", "landed"),
    MappingProxyType({name: criterion.settings() for name, criterion in criteria().items()}),
)

HOSTILE = (
    "<script>document.title='owned';alert(1)</script>"
    "<img src=https://evil.example/a.png onerror=\"document.title='owned'\">"
    "</td></table></p></div></style></pre><style>body{display:none}</style>"
    "<svg onload=alert(2)><iframe src=https://evil.example/></iframe>"
    "\"' onmouseover=alert(3) x=' {{ 7*7 }} {% raw %} &lt;b&gt; &#0; "
    "![shot](https://evil.example/shot.png) [click](javascript:alert(4)) "
    "\u202egnp.exe\u202c zero\u200bwidth \x1b[31mred\x07 \U000e0041\U000e0042 ]]> --> "
    "<base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example'>"
)
"""Text that tries to run, load, restyle, break out and deceive."""

DIFF = """\
--- a/src/pan.py
+++ b/src/pan.py
@@ -3,4 +3,5 @@
 import sieve
 def wash(gravel):
-    return sieve.shake(gravel, times=3)
+    water = sieve.fill()
+    return sieve.shake(gravel, times=4)
 # end
@@ -40,2 +41,2 @@
 def rest():
-    pass
\\ No newline at end of file
+    return None
"""


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def verdict(
    issue: int, criterion: str, keep: bool | None, reason: str | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "repo": REPO,
        "subject": "issue",
        "issue": issue,
        "stage": "filter",
        "criterion": criterion,
        "decides": criterion in PROFILE.decide,
        "keep": keep,
        "reason": reason,
        "profile": PROFILE.name,
        "settings": "0",
        **more,
    }


def make_workspace(
    root: Path,
    *,
    repo: str = REPO,
    issues: int = 12,
    title: str = "Pan leaks",
    body: str = "It does.",
) -> WorkspaceLayout:
    """Write a repository of `issues` issues, of which every third is short, with pulls 101 on.

    Odd issues have two participants; each of the first four has a fix pair, two of them merged.
    """
    workspace = WorkspaceLayout(root)
    save = partial(put_table, workspace, repo)
    numbers, paired = range(1, issues + 1), range(1, min(issues, 4) + 1)
    save(REPOSITORIES, [{"language": "Python", "license": "MIT", "default_branch": "main"}])
    opened: list[dict[str, Any]] = [
        {
            "number": n,
            "kind": "issue",
            "title": f"{title} {n}",
            "body": body * n,
            "created_at": day(2018 + n % 5),
            "updated_at": day(2024),
            "author_association": "member" if n % 4 == 0 else "none",
            "labels": ["bug"] if n % 2 else ["bug", title],
        }
        for n in numbers
    ]
    pull = {"kind": "pull", "created_at": day(2020)}
    pulls = [
        {**pull, "number": 100 + n, "title": f"Mend {title} {n}", "changed_files": n}
        for n in numbers
    ]
    save(ENTRIES, [*opened, *pulls])
    reply = {"kind": "comment", "author_association": "member", "body": "Try a finer sieve."}
    save(COMMENTS, [{**reply, "number": n, "comment_id": n} for n in numbers])
    signals = (["keyword", "closed_by"], ["keyword"])
    pairs = [{"issue": n, "pull_repo": repo, "pull": 100 + n, "merged": n < 3} for n in paired]
    save(
        PAIRS, [{**pair, "signals": signals[n % 2]} for n, pair in zip(paired, pairs, strict=True)]
    )
    save(REVISIONS, [{"number": 101, "state": "base"}, {"number": 102, "state": "merge_parent"}])
    verdicts = []
    for n in numbers:
        short, alone, rude = n % 3 == 0, n % 2 == 0, n == 5
        people = None if n == 2 else not alone
        verdicts += [
            verdict(n, "length", not short, "too-short" if short else None, value=10.0 * n),
            verdict(n, "people", people, "alone" if alone else None, evidence=title),
            verdict(n, "tone", not rude, "rude" if rude else None),
        ]
    for n in paired:
        of = {"subject": "pair", "pull_repo": repo, "pull": 100 + n}
        verdicts.append(verdict(n, "landed", n < 3, None if n < 3 else "not-merged", **of))
    rows = ({**row, "repo": repo} for row in verdicts)
    put_rows(workspace.verdicts(repo, PROFILE.name), VERDICTS.schema, rows)
    return workspace


def example(family: Family, issue: int, text: str, **more: Any) -> dict[str, Any]:
    """Return a row of a dataset in which each text is `text`."""
    turns = [("none", day(2021)), ("member", day(2021, 2))]
    own = {
        "id": f"{family.name}:{REPO}#{issue}",
        "pull": 100 + issue,
        "created_at": day(2021),
        "labels": [text],
        "answer_created_at": day(2021, 2),
        "dialogue": [{"role": role, "content": text, "created_at": at} for role, at in turns],
        "paths": ["src/pan.py", "src/sieve.py", "src/deep/down.py", "setup.py"],
        "changed_path": "src/pan.py",
        "path": "src/pan.py",
        "code_language": "python",
        "file_before": "import sieve\n",
        "patch": "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
        "diff": DIFF,
        "signals": None,
    }
    texts = dict.fromkeys(("title", "body", "answer", "pull_title", "pull_body"), text)
    return examples.example(family, issue, REPO, **{**texts, **own, **more})


def make_dataset(root: Path, family: Family, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as the only shard of a train split."""
    names = set(family.schema.names)
    selected = [{key: value for key, value in row.items() if key in names} for row in rows]
    path = root / family.name
    put_rows(path / "data" / "train-00000-of-00001.parquet", family.schema, selected)
    return path


def make_datasets(
    root: Path, text: str = "The pan leaks.", rows: int = 3, **more: Any
) -> list[Path]:
    """Write one dataset of each family."""
    return [
        make_dataset(root, family, [example(family, n, text, **more) for n in range(1, rows + 1)])
        for family in (QA, FAULT_LOCALIZATION, CODE_EDIT)
    ]
