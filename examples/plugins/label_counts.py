"""A builder with an option of its own: how many issues have each label of a repository.

goldpan --plugin label_counts.py build label-counts --fewest 3
"""

from pathlib import Path

import pyarrow as pa

from goldpan.plugins import Builder, Column, Family, register
from goldpan.plugins.data import (
    CardInputs,
    Provenance,
    SplitPlan,
    mined_source,
    open_tables,
    write_dataset,
)
from goldpan.plugins.operations import Dataset, Positive, Workspace, known_repositories

LABELS = Family(
    name="label-counts",
    title="Labels of issues",
    task="Which labels a project uses, and how often.",
    source="An example of docs/plugins.md",
    citation="",
    columns=(
        Column("id", pa.string(), "The identifier, as label-counts:owner/name:LABEL."),
        Column("repo", pa.string(), "The repository, as owner/name."),
        Column("license", pa.string(), "The SPDX identifier of the repository's license."),
        Column("created_at", pa.timestamp("us", tz="UTC"), "When the first such issue was opened."),
        Column("label", pa.string(), "The name of the label."),
        Column("issues", pa.int64(), "How many issues have it."),
    ),
    order=("repo", "label"),
    subject=("repo", "label"),
    inputs=("label",),
    target="issues",
    task_categories=("other",),
)
QUERY = """
SELECT 'label-counts:' || repo || ':' || label AS id, repo, any_value(license) AS license,
       min(created_at) AS created_at, label, count(*) AS issues
FROM (SELECT repo, created_at, unnest(labels) AS label FROM entries WHERE kind = 'issue')
CROSS JOIN (SELECT license FROM repositories)
GROUP BY repo, label HAVING count(*) >= $fewest
"""


def build(
    lab: Workspace, *repos: str, fewest: Positive = 2, output: Path | str | None = None
) -> Dataset:
    """Count the issues that have each label.

    Args:
        fewest: Leave out labels of fewer issues.
        output: The dataset's directory. (default: WORKSPACE/datasets/label-counts)
    """
    layout, batches, sources = lab.layout, [], []
    for repo in known_repositories(layout, repos, "tables"):
        with open_tables(layout, repo, ["entries", "repositories"]) as tables:
            batches += tables.sql(QUERY, params={"fewest": fewest}).to_arrow_table().to_batches()
        sources.append(mined_source(layout, repo))
    directory = Path(output) if output else layout.dataset("label-counts")
    provenance = Provenance(tuple(sources), settings={"fewest": fewest})
    plan = SplitPlan.parse("none", 0)
    write_dataset(layout, directory, LABELS, batches, plan, provenance, CardInputs())
    return Dataset(directory, workspace=lab)


register(Builder("label-counts", "label_counts:build", reads="mined"))
