"""The operation ``goldpan build issue-type``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from goldpan.plugins.core import repository_name
from goldpan.plugins.operations import LOCAL, Execution, known_repositories, several

if TYPE_CHECKING:
    from goldpan.plugins.datasets import LabelClasses
    from goldpan.plugins.operations import Dataset, Workspace


def issue_type(  # noqa: D417 - `lab` and `*repos` are the same in all operations
    lab: Workspace,
    *repos: str,
    source: Literal["gharchive", "mined"] = "gharchive",
    profile: str | Path = "default",
    split: str | None = None,
    balance: str | None = None,
    seed: int = 0,
    corrections: str | Sequence[str] = (),
    labels: bool = False,
    output: Path | str | None = None,
    execution: Execution = LOCAL,
) -> Dataset | LabelClasses:
    """Build a dataset of issues and their types: bug, feature and the like.

    Uses closed issues whose labels mean exactly one type. Both engines give the same bytes.
    With leave-one-project-out, Python gets the first dataset, whose `built` names all.

    Args:
        source: Hours of GH Archive, or mined repositories.
        profile (NAME): default, nlbse22, nlbse23, nlbse24, or the path of your own .toml
            file.
        split: leave-one-project-out, none, random:0.8,0.1,0.1, repository:0.8,0.2,
            project:OWNER/NAME, stratified:0.8,0.2, time:2023-01-01[,2024-01-01] or, where the
            rows have one from their source, given. (default: the profile's)
        balance: none, project:300 or project-label:100. (default: the profile's)
        seed: Seed of the split and the balance.
        corrections (PROJECT): An annotation project whose decisions replace labels; may be
            given several times.
        labels: Only list labels with their classes; --output FILE.toml is a profile to edit.
        output: The dataset's directory. (default: WORKSPACE/datasets/...)
        execution: Where hours or repositories are read.
    """
    from goldpan.papers.nlbse.issues.build import build_issue_types, make_request
    from goldpan.papers.nlbse.issues.closings import EventSource
    from goldpan.papers.nlbse.issues.profile import load_profile
    from goldpan.plugins.core import open_engine
    from goldpan.plugins.datasets import list_labels
    from goldpan.plugins.operations import Dataset

    chosen = load_profile(str(profile))
    lab.settings.trust.require("plugins")
    names = (
        known_repositories(lab.layout, repos, "tables")
        if source == "mined" or labels
        else list(dict.fromkeys(map(repository_name, repos)))
    )
    if labels:
        return list_labels(lab.layout, names, chosen.class_of, chosen.plain(), output)
    request = make_request(
        EventSource(lab.layout, source, tuple(names)),
        chosen,
        split=split,
        balance=balance,
        seed=seed,
        directory=Path(output) if output else None,
        projects=several(corrections),
    )
    sizes = [unit.path.stat().st_size for unit in request.source.units() if unit.path.exists()]
    few = sum(sizes) < 500_000  # bytes are read sooner than other processes start
    workers = execution.workers or (1 if few else lab.settings.processes)
    engine = open_engine(execution.engine, workers, execution.address)
    with lab.reporting() as reporter, engine:
        built = build_issue_types(request, engine, reporter)
    return Dataset(built.written[0].directory, built=built, workspace=lab)
