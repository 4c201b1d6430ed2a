"""Stands in for operations that other branches bring; goes when they are merged."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from goldpan.core.result import Line, Result, Results, Title
from goldpan.operations.group import Group
from goldpan.operations.signature import opens_with
from goldpan.operations.values import LOCAL, Execution, Positive, several
from goldpan.operations.workspace import Workspace


@dataclass
class R(Result):
    errors = ()
    text: str
    written: Any = None
    records: Any = ()
    directory: Any = None
    changes: Any = ()
    url: str = ""
    tag: Any = None
    commit: Any = None
    code: int = 0

    def __getitem__(self, i):
        return self

    pairs = 0

    def blocks(self):
        yield Line(self.text)

    @property
    def exit_code(self):
        return self.code


@opens_with("api_url", "via", "since", "concurrency", "at_once", "patience")
def mine(self: Workspace, *repos: str, license: str | None = None) -> R: ...


def clone(
    self: Workspace,
    *repos: str,
    source: str | None = None,
    network: bool | None = None,
    execution: Execution = LOCAL,
) -> R:
    """Clone.

    Args:
        source: A git address.
    """
    from goldpan.api.stages.mining import clone

    ((_, history),) = clone(self, *repos, source=source, network=network)
    return R(
        f"{history.pulls:,} pull requests read, {history.changes:,} changed files",
        code=3 if history.unasked else 0,
    )


def filter(
    self: Workspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    settings: Mapping[str, Any] | None = None,
    execution: Execution = LOCAL,
) -> Result:
    from goldpan.api.stages.filtering import filter

    (r,) = filter(self, *repos, profile=profile, rules=rules)
    return R(
        f"{r.profile} keeps {r.issues.kept:,} of {r.issues.rows:,} issues, {r.pairs.kept:,} of {r.pairs.rows:,} pairs by {rules}"
    )


def review(
    self: Workspace,
    *repos: str,
    model: str | Sequence[str] = (),
    profile: str | Path = "default",
    rules: str = "default",
    settings_file: Path | str | None = None,
    settings: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> Result:
    from goldpan.api.stages.reviewing import review, predict_review

    f = predict_review if dry_run else review
    return f(
        self,
        *repos,
        models=several(model),
        profile=profile,
        rules=rules,
        settings=settings_file,
        **(settings or {}),
    )


class Annotate(Group):
    def push(
        self,
        *,
        project: str,
        form: str | None = None,
        dataset: Path | str | None = None,
        task: str | None = None,
        profile: str = "default",
        rules: str = "default",
    ) -> Result: ...


class Build(Group):
    def qa(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: str | Sequence[str] = (),
        answer: Literal["best", "first", "all", "reviewed"] | None = None,
        gold: Path | str | Sequence[Path | str] = (),
        output: Path | str | None = None,
        since: Path | str | None = None,
        execution: Execution = LOCAL,
    ) -> Result:
        return self._of(
            "qa",
            *repos,
            profile=profile,
            rules=rules,
            split=split,
            seed=seed,
            limit=limit,
            require=several(require),
            answer=answer,
            gold=gold,
            output=output,
            since=since,
        )

    def code_edit(
        self,
        *repos: str,
        profile: str | Path = "default",
        rules: str = "default",
        split: str = "none",
        seed: int = 0,
        limit: Positive | None = None,
        require: str | Sequence[str] = (),
        gold: Path | str | Sequence[Path | str] = (),
        output: Path | str | None = None,
        since: Path | str | None = None,
        execution: Execution = LOCAL,
    ) -> Result:
        return self._of(
            "code-edit",
            *repos,
            profile=profile,
            rules=rules,
            split=split,
            seed=seed,
            limit=limit,
            require=several(require),
            gold=gold,
            output=output,
            since=since,
        )

    def _of(self, family, *repos, **more):
        from goldpan.api.stages.building import build

        d = build(self.lab, family, *repos, **more)
        return R(f"{len(d):,} examples", written=d.built.written)


def publish(
    self: Workspace,
    dataset: Path | str,
    repo_id: str,
    *,
    private: bool = False,
    tag: str | None = None,
    overwrite: bool = False,
    allow_license: str | Sequence[str] = (),
    dry_run: bool = False,
) -> Result:
    from goldpan.api.stages.building import publish

    r = publish(
        self,
        dataset,
        repo_id,
        private=private,
        tag=tag,
        overwrite=overwrite,
        allowed_licenses=several(allow_license) or None,
    )
    return R("published", changes=r.changes, url=r.url, tag=r.tag, commit=r.commit)


def verify(
    self: Workspace,
    dataset: Path | str,
    *,
    recipe: Path | str | Sequence[Path | str] = (),
    timeout: float = 1800,
) -> Result: ...


class Evaluate(Group):
    def run(
        self,
        *,
        dataset: str | Sequence[str] = (),
        task: str | Sequence[str] = (),
        model: str | Sequence[str] = "majority",
        seed: int | Sequence[int] = (0,),
        protocol: str = "default",
        settings: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Result:
        from goldpan.api.stages.evaluation import evaluate, plan

        data = [*map(self.lab.dataset, several(dataset)), *several(task)]
        kw = dict(
            model=several(model),
            seeds=[seed] if isinstance(seed, int) else seed,
            protocol=protocol,
            settings=settings,
        )
        if dry_run:
            return [p.estimate() for p in plan(self.lab, data, **kw)]
        e = evaluate(self.lab, data, **kw)
        return Results(R("run", directory=r.directory) for r in e.runs)

    def compare(
        self,
        *,
        task: str | Sequence[str] = (),
        model: str | Sequence[str] = (),
        output: Path | str | None = None,
        markdown: Path | str | None = None,
        latex: Path | str | None = None,
    ) -> Result: ...


def export(
    self: Workspace,
    dataset: str,
    *,
    to: Literal["swe-bench", "harbor", "inspect"],
    output: Path | str | None = None,
    unverified: bool = False,
) -> Result: ...


PENDING = {
    "review": review,
    "annotate push": Annotate.push,
    "build qa": Build.qa,
    "build fault-localization": Build.code_edit,
    "build code-edit": Build.code_edit,
    "publish": publish,
    "evaluate run": Evaluate.run,
    "evaluate compare": Evaluate.compare,
    "export": export,
}
