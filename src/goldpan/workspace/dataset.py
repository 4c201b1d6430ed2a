"""A finished dataset: its rows for pandas, Arrow, DuckDB and `datasets`, and where they came from.

Its files are verified by the digests in their provenance before they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

from goldpan.core.errors import DatasetError, UsageError, question
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.remote import is_address, open_address
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.values import ExportName, several
from goldpan.workspace.opening import MOST_OFFERED, OpenWorkspace

if TYPE_CHECKING:  # these are optional, or take long to import
    import datasets
    import pandas as pd
    import pyarrow as pa

    from goldpan.datasets.export.export import ExportResult
    from goldpan.datasets.gold import GoldScore
    from goldpan.datasets.hub.publish import PublishResult

_ORDER = ("train", "validation", "test")
_COMMIT = re.compile(r"[0-9a-f]{40}")
"""The name of a folder in the Hub's cache."""
_HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")


class Dataset(Result):
    """A directory of Parquet files with a card and provenance, as `goldpan build` writes it."""

    schema = 2
    shown_in_json = ("path", "family", "examples", "splits", "built")

    def __init__(
        self, path: str | Path, *, built: Any = None, workspace: OpenWorkspace | None = None
    ) -> None:
        """Open the dataset in a directory; raises `DatasetError` where it holds none."""
        from goldpan.datasets.provenance import read_provenance

        self.path = Path(path)
        self.provenance: Mapping[str, Any] = read_provenance(self.path)
        """The content of `provenance.json`: sources, settings, versions, digests of the files."""
        self.built = built
        """The result of building it, if this program built it, which is what people see."""
        self.workspace = OpenWorkspace() if workspace is None else workspace
        """The workspace that it comes from, else the one that settings name."""

    def __repr__(self) -> str:
        splits = ", ".join(f"{name}: {rows:,}" for name, rows in self.splits.items())
        return f"Dataset({str(self.path)!r}, {self.family}, {splits})"

    def __len__(self) -> int:
        return sum(self.splits.values())

    @property
    def examples(self) -> int:
        """The number of its rows."""
        return len(self)

    @property
    def family(self) -> str:
        """The kind of dataset, such as ``qa``, or the task that it was made for."""
        return str(self.provenance["family"])

    @cached_property
    def splits(self) -> Mapping[str, int]:
        """The number of rows of each split."""
        import pyarrow.parquet as pq

        names = {path.name.rpartition("-of-")[0].rpartition("-")[0] for path in self._paths()}
        ordered = [name for name in _ORDER if name in names]
        ordered += sorted(names - set(_ORDER))
        return {
            name: sum(pq.read_metadata(path).num_rows for path in self._paths(name))
            for name in ordered
        }

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        import pyarrow.parquet as pq

        return [str(name) for name in pq.read_schema(self._paths()[0]).names]

    @property
    def card(self) -> str:
        """The card for people, in Markdown."""
        from goldpan.datasets.card import CARD

        return (self.path / CARD).read_text(encoding="utf-8")

    @property
    def exit_code(self) -> int:
        """3 where building it lacked something, else 0."""
        return 0 if self.built is None else self.built.exit_code

    def to_arrow(self, split: str | None = None, *, findings: bool = False) -> pa.Table:
        """Return the rows of a split, by default of all, as an Arrow table.

        With `findings`, those of the stored audit are columns: a verdict and a case each.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if split is not None and split not in self.splits:
            remedy = self._lacking() or f"It has {', '.join(self.splits)}"
            raise UsageError(f"{self.path} has no split {split!r}", remedy)
        names = list(self.splits) if split is None else [split]
        rows = pa.concat_tables(
            pq.read_table(path, page_checksum_verification=True, partitioning=None)
            for name in names
            for path in self._paths(name)
        )
        if not findings:
            return rows
        from goldpan.audit.stored_audit import read_audit

        return read_audit(self.workspace.layout, self.path).join(rows)

    def _lacking(self) -> str:
        """Return which planned splits have no row, and the way to split that gives them some."""
        from goldpan.datasets.splits import SplitReport

        report = dict(self.provenance.get("splits", {}))
        report.pop("bytes", None)
        return SplitReport(**report).lacking if report else ""

    def to_pandas(self, split: str | None = None, *, findings: bool = False) -> pd.DataFrame:
        """Return the rows of a split, by default of all, as a data frame, as `to_arrow` does."""
        optional("pandas")
        frame: pd.DataFrame = self.to_arrow(split, findings=findings).to_pandas()
        return frame

    def to_datasets(self) -> datasets.DatasetDict:
        """Return the splits as Hugging Face `datasets` has them."""
        module = optional("datasets")
        splits: datasets.DatasetDict = module.DatasetDict(
            {name: module.Dataset(self.to_arrow(name)) for name in self.splits}
        )
        return splits

    def sql(self, query: str, **values: object) -> pa.Table:
        """Return the result of a DuckDB SQL query; `data` has all rows and their `split`.

        Each split is also a table of that name. `values` are the query's ``$name`` parameters.
        """
        import duckdb
        import pyarrow as pa

        from goldpan.core.storage.parquet import connect_alone

        with connect_alone() as connection:
            tables = {name: self.to_arrow(name) for name in self.splits}
            for name, rows in tables.items():
                connection.register(name, rows)
            if "split" not in self.columns:
                tables = {
                    name: rows.append_column("split", pa.repeat(name, len(rows)))
                    for name, rows in tables.items()
                }
            connection.register("data", pa.concat_tables(tables.values()))
            try:
                return connection.sql(query, params=values or None).to_arrow_table()
            except duckdb.Error as error:
                message = str(error).splitlines()[0].rstrip("!.")
                raise UsageError(
                    f"The query cannot be answered: {message}",
                    f"The table data has the columns {', '.join(self.columns)}",
                ) from None

    def score_labels(self, gold: str | Path) -> GoldScore:
        """Score the rows against a gold set: a CSV file of answers or pairs labeled by reading."""
        from goldpan.datasets.gold import read_gold, score_labels

        return score_labels(self._paths(), read_gold(Path(gold)))

    def export(
        self, *, to: ExportName, output: Path | str | None = None, unverified: bool = False
    ) -> ExportResult:
        """Write a dataset in the format that SWE-bench, Inspect, lm-eval or a trainer reads.

        SWE-bench and Harbor take only rows that goldpan verify proved; others are left out and
        counted. docs/exports.md describes the files.

        Example: goldpan export qa --to inspect --output qa-inspect

        Args:
            to (FORM): swe-bench, harbor, inspect, lm-eval, alpaca or chat.
            output: The directory to write; an earlier export there is replaced. (default:
                NAME-FORM)
            unverified: With swe-bench: also rows that no test run proved.
        """
        from goldpan.audit.stored_audit import find_audit
        from goldpan.core.errors import GoldpanError
        from goldpan.core.storage.workspace import tasks_directory
        from goldpan.datasets.export.export import ExportedFindings, export_dataset

        if to not in get_args(ExportName):
            raise unknown_name("format", to, get_args(ExportName))
        path = self.path.absolute()
        audit = find_audit(self.workspace.layout, self.path)
        name = self.family if _COMMIT.fullmatch(path.name) else path.name
        return export_dataset(
            self.path,
            self.family,
            list(self.splits),
            to,
            Path(output or f"{name}-{to}"),
            name=name,
            tasks=tasks_directory(path.parent.parent),
            unverified=unverified,
            findings=ExportedFindings(lacking=str(audit))
            if isinstance(audit, GoldpanError)
            else ExportedFindings(audit.verdicts(), audit.digest),
        )

    def publish(
        self,
        *,
        repo_id: str,
        private: bool = False,
        tag: str | None = None,
        allow_license: str | Sequence[str] = (),
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> PublishResult:
        """Publish a dataset on the Hugging Face Hub in one commit.

        The token comes from HF_TOKEN or `hf auth login`. Nothing leaves the machine if a check of
        the card, the licenses or secrets fails.

        Example: goldpan publish qa --repo-id lab/qa --private

        Args:
            repo_id (OWNER/NAME): The repository on the Hub.
            private: Make a new repository private.
            tag (NAME): Tag this version, for example v1.
            allow_license (SPDX): Publish only under these licenses.
            overwrite: Replace what the Hub has under that name.
            dry_run: Only check, and say what would be sent.
        """
        from goldpan.datasets.hub.publish import publish

        return publish(
            self.path,
            repo_id,
            private=private,
            tag=tag,
            overwrite=overwrite,
            dry_run=dry_run,
            reporter=self.workspace.reporter,
            allowed_licenses=several(allow_license) or None,
        )

    def _paths(self, split: str = "*") -> list[Path]:
        from goldpan.datasets.provenance import shard_paths

        return shard_paths(self.path, split)


def load(source: str | Path) -> Dataset:
    """Open a dataset: its directory, or the ``OWNER/NAME`` of one on the Hugging Face Hub.

    One of a workspace in a store is ``s3://BUCKET/NAME/datasets/DATASET``.
    One on the Hub is fetched into the Hub's cache, and every file is verified by its digest.
    """
    return Dataset(find_directory(source))


def find_directory(source: str | Path) -> Path:
    """Return the directory of a dataset as `load` finds it; one on the Hub is fetched."""
    if is_address(source):
        workspace, _, name = str(source).rpartition("/datasets/")
        return open_address(workspace or source) / "datasets" / name
    if Path(source).exists() or not _HUB_ID.fullmatch(str(source)):
        return Path(source)
    return _fetch(str(source))


def _fetch(repo_id: str) -> Path:
    # The Hub's client takes long to import.
    from huggingface_hub import get_token
    from huggingface_hub.errors import EntryNotFoundError

    from goldpan.datasets.hub.errors import HubCall, explained
    from goldpan.datasets.hub.publish import endpoint, open_hub, quiet
    from goldpan.datasets.provenance import PROVENANCE, read_provenance

    call = HubCall(repo_id, endpoint(), get_token())
    api = open_hub(call.token)
    again = "Check the network, or give the directory of a dataset on this machine"
    with explained(call, f"fetching the dataset {repo_id}", again), quiet():
        commit = api.dataset_info(repo_id).sha
        try:
            found = api.hf_hub_download(repo_id, PROVENANCE, repo_type="dataset", revision=commit)
        except EntryNotFoundError:
            raise DatasetError(
                f"{repo_id} on {call.host} holds no {PROVENANCE}",
                "Give a dataset that goldpan publish sent, or load it with datasets.load_dataset",
            ) from None
        directory = Path(found).parent
        names = [str(name) for name in read_provenance(directory)["files"]]
        api.snapshot_download(repo_id, repo_type="dataset", revision=commit, allow_patterns=names)
    return directory


def dataset_directory(layout: WorkspaceLayout, dataset: str | Path | Dataset) -> Path:
    """Return the directory of a dataset, given by its path, its name in the workspace, or open."""
    if isinstance(dataset, Dataset):
        return dataset.path
    named = layout.dataset(str(dataset))
    return named if named.is_dir() and not Path(dataset).is_dir() else Path(dataset)


def dataset_directories(
    layout: WorkspaceLayout, datasets: str | Path | Iterable[str | Path]
) -> list[Path]:
    """Return the directories of datasets, each given as `dataset_directory` takes it."""
    given = [datasets] if isinstance(datasets, (str, Path)) else datasets
    return [dataset_directory(layout, dataset) for dataset in given]


def find_dataset(self: OpenWorkspace, dataset: Path | str | Dataset) -> Dataset:
    """Return a dataset by its name in the workspace, else as `load` does; an open one stays so.

    A directory that is there comes before a name.
    """
    if isinstance(dataset, Dataset):
        return dataset
    is_name = len(Path(dataset).parts) == 1 and not Path(dataset).is_dir()
    if Path(dataset).is_file() and not self.layout.dataset(str(dataset)).is_dir():
        raise UsageError(
            f"{dataset} is a file, not a dataset", "Give a dataset's name or directory"
        )
    directory = self.layout.dataset(str(dataset)) if is_name else find_directory(dataset)
    return Dataset(directory, workspace=self)


def table_path(self: OpenWorkspace, source: Path | str | Dataset) -> Path:
    """Return the file of a table, or the directory of a dataset as `find_dataset` finds it.

    A path that is there comes before a name.
    """
    from goldpan.datasets.provenance import finished_datasets

    if isinstance(source, Dataset):
        return source.path
    found = Path(source) if Path(source).exists() else dataset_directory(self.layout, source)
    if not found.exists():
        found = find_directory(source)
    if not found.exists():
        built = [path.name for path in finished_datasets(self.layout)]
        near = question(str(source), built, MOST_OFFERED)
        raise UsageError(
            f"There is no dataset or file {source}",
            near or "Give a dataset's name or directory, or the path of a table's file",
        )
    return found


def optional(name: str) -> ModuleType:
    """Return a package that is not needed otherwise; raises `UsageError` where it is missing."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed", f"Run pip install {name}") from None
