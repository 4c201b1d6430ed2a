"""The record of a written dataset: its splits, files and licenses, and the texts of its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from goldpan.core.result import NAME_IN_JSON, Block, Line, Table
from goldpan.datasets.family import Family
from goldpan.datasets.gold import GoldScore, SampleScore
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitReport
from goldpan.miners.journal_state import STATED


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a dataset."""

    path: str
    """Relative to the dataset, with slashes."""
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True, slots=True)
class WrittenSplit:
    """A split that has rows."""

    name: str
    rows: int
    size: int
    """Bytes of the rows in memory, which the Hub calls num_bytes."""
    files: tuple[DataFile, ...]
    first: datetime | None = None
    """When the oldest row is from, by the family's moment."""
    last: datetime | None = None
    """When the newest row is from."""

    @property
    def pattern(self) -> str:
        """The glob of its files, relative to the dataset."""
        return f"data/{self.name}-*.parquet"


@dataclass(frozen=True, slots=True)
class Origin:
    """The rows of one source repository."""

    repo: str
    license: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class Written:
    """A dataset as it was written."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("rows",)

    directory: Path
    family: Family = field(metadata=NAME_IN_JSON)
    splits: tuple[WrittenSplit, ...]
    report: SplitReport
    origins: tuple[Origin, ...]
    """Sorted by name."""
    scores: tuple[GoldScore, ...] = ()
    """The scores of the rows against gold sets."""
    proved: int = 0
    """The rows whose fix was proved by running tests."""
    tiers: Mapping[str, int] = field(default_factory=dict)
    """How many rows each tier of answers has."""
    replaced: bool = field(default=False, compare=False)
    """True where an earlier dataset was in the directory."""

    @property
    def rows(self) -> int:
        """The rows of all splits."""
        return sum(split.rows for split in self.splits)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The Parquet files of all splits."""
        return tuple(file for split in self.splits for file in split.files)

    def place(self) -> str:
        """Return a sentence that says where it is."""
        instead = ", in place of the earlier dataset there" if self.replaced else ""
        return f"Written to {self.directory}{instead}"

    def table(self, rows: str = "examples") -> Table:
        """Return the splits as a table; `rows` says what a row is."""
        sizes = {split.name: sum(file.size for file in split.files) for split in self.splits}
        cells = [(split.name, split.rows, sizes[split.name]) for split in self.splits]
        return Table(("split", rows, "bytes"), cells)

    def dropped_blocks(self, what: str = "near duplicates of examples") -> Iterator[Block]:
        """Yield how many rows the split dropped, and which split it left empty."""
        if self.report.dropped:
            yield Line(f"  {self.report.dropped:,} dropped: {what} in another split")
        if lacking := self.report.lacking:
            yield Line(f"  {lacking}")


@dataclass(frozen=True, slots=True)
class Extras:
    """Further files and facts of a dataset, beside its rows."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files, by their path in the dataset with slashes."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further members of its provenance."""
    quoted: tuple[Origin, ...] = ()
    """The sources of texts that only other rows, or `files`, quote; `rows` does not count."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task that rows are of, for the card."""

    name: str
    side: str
    """The split of its rows."""
    kind: str
    source: str
    """The title of the work that its rows are from."""
    license: str
    """The license of that work."""
    available: int
    """Its instances."""
    drawn: int
    rows: int
    """The rows that are here."""


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One criterion that decided, for the card."""

    criterion: str
    definition: str
    alone: int
    """Subjects that it drops, whatever the others say."""
    undecided: int
    """Subjects that it cannot judge, which therefore are not left."""
    left: int
    """Subjects left after it and those before it."""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CardInputs:
    """The texts of a card that the rows do not give."""

    title: str = ""
    """The name for people; empty for one made of the family and the repositories."""
    summary: str = ""
    """A paragraph on this dataset by its author."""
    label_rule: str = ""
    """The rule that made the labels, in words; empty where they are somebody else's."""
    label_threshold: str = ""
    """The least that the rule asks of a label, such as 12 points."""
    eligible: int | None = None
    """Subjects that could have a label: issues that somebody answered; None where all could."""
    label_accuracy: Callable[[Written], str] = lambda _: ""
    """Returns how right such labels are, where that was measured."""
    languages: tuple[str, ...] = ("en",)
    """The natural languages of the texts, ISO 639-1."""
    subjects: str = "subjects"
    """The subjects that the funnel counts: issues or fix pairs."""
    considered: int = 0
    """How many there were before any filter."""
    funnel: tuple[FunnelStep, ...] = ()
    limits: tuple[str, ...] = ()
    """Limits of conclusions from this dataset, beside those of its family."""
    tags: tuple[str, ...] = ()
    answer_choice: str = ""
    """How the reply that answers was chosen, in words; empty where there is none."""
    texts: str = ""
    """The moment of which the texts are, in words; empty for that of mining."""
    explained: Mapping[str, str] = field(default_factory=dict)
    """The meaning of the reasons in the provenance's counts."""
    tasks: tuple[TaskLine, ...] = ()
    """The tasks whose rows these are; empty for a dataset of one task."""
    citations: tuple[str, ...] = ()
    """BibTeX entries of the works that rows are from."""
    made: str = ""
    """How the rows were made; empty for what is mined from repositories with all replies kept."""
    changes: str = ""
    """Markdown on what changed since an older version, put into the card as it is."""
    apart: str = "Near duplicates"
    """The rows that were kept on one side of the split; empty for none."""
    near_duplicates: str = ""
    """How they were kept apart, in words, where they were not by groups."""
    redacted: bool = True
    """True where private data was searched for and made unreadable."""


_MOST_NAMED = 3
_Measured = Literal["sample", "gold set", "tests", "other repositories", "nothing"]
_PROVED = "are proved by tests that fail before the fix and pass after it"


@dataclass(frozen=True, slots=True)
class LabelStatement:
    """The making and the accuracy of labels, and the share of the subjects that has one."""

    made: str
    """Rule, threshold, profile and reviews in a sentence."""
    accuracy: str
    """How right the labels are, in a sentence, with its interval."""
    measured_on: _Measured
    """The data behind `accuracy`."""
    held: str
    """The share that has a row, in a sentence."""
    stated_licenses: str
    """Licenses that the user stated, in a sentence; empty for none."""


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """All that is known of a dataset; its card, Croissant metadata and provenance are views."""

    written: Written
    card: CardInputs
    provenance: Provenance
    extras: Extras

    @property
    def title(self) -> str:
        """The name for people."""
        if self.card.title:
            return self.card.title
        repos = [origin.repo for origin in self.written.origins]
        source = " and ".join(repos) if len(repos) <= 2 else f"{len(repos)} repositories"
        return f"{self.written.family.title} from {source}"

    @property
    def mined_until(self) -> datetime | None:
        """When the last reply came; None for what was not mined."""
        until = (source.mined_until for source in self.provenance.sources)
        return max(filter(None, until), default=None)

    @property
    def labels(self) -> LabelStatement | None:
        """The making and the accuracy of its labels; None where they are somebody else's."""
        return _state_labels(self) if self.card.label_rule else None


def _state_labels(record: DatasetRecord) -> LabelStatement:
    written, card, provenance = record.written, record.card, record.provenance
    profile = provenance.profile.get("name")
    reviews = " and ".join(sorted(provenance.reviews))
    by = f" and the review {reviews}" if reviews else ", without a review"
    threshold = f", with at least {card.label_threshold}" if card.label_threshold else ""
    measured_on: _Measured = "nothing"
    accuracy = "Their accuracy was not measured."
    judged = [score for score in written.scores if score.labeled]
    others = [score.gold for score in written.scores if not score.labeled]
    if judged:
        measured_on = "sample" if judged[0].sample else "gold set"
        accuracy = " ".join(map(_of_gold, judged))
    elif written.proved:
        measured_on = "tests"
        accuracy = f"Of {written.rows:,} rows, {written.proved:,} {_PROVED}."
    elif measured := card.label_accuracy(written):
        measured_on, accuracy = "other repositories", f"{measured}."
    if others:
        accuracy += f" No judgment in {' and '.join(others)} decides on any of these rows."
    answered = "" if card.eligible is None else f", of which somebody answered {card.eligible:,}"
    return LabelStatement(
        f"{card.label_rule}{threshold}" + (f"; by the profile {profile}{by}." if profile else "."),
        accuracy,
        measured_on,
        f"The rows are made of {written.rows:,} of {card.considered:,} {card.subjects}{answered}.",
        _stated(provenance),
    )


def _of_gold(score: GoldScore) -> str:
    shares = f"{score.right.percent()} are right"
    if "partly" in score.labels:
        shares += f", {score.at_least_partly.percent()} at least in part"
    if score.sample is None:
        return f"Of {score.labeled:,} rows in the gold set {score.gold}, {shares}."
    undecided = score.sample.cannot_tell
    rest = f" {undecided:,} could not be judged." if undecided else ""
    return f"{_reading(score.sample)}: {shares}.{rest}"


def _reading(sample: SampleScore) -> str:
    drawn = f"Of {sample.drawn:,} rows drawn with seed {sample.seed}"
    readers = " and ".join(sample.readers) or "nobody"
    kappas = [
        f"Cohen's kappa {'not defined' if pair.kappa is None else format(pair.kappa, '.2f')} on "
        f"{pair.rows:,} rows"
        for pair in sample.pairs
    ]
    agreed = f" ({'; '.join(kappas)})" if kappas else ""
    weighted = f", weighted by a model's vote ({', '.join(sample.strata)})" if sample.strata else ""
    return f"{drawn}, {sample.read:,} were read by {readers}{agreed}{weighted}"


def _stated(provenance: Provenance) -> str:
    stated = [source for source in provenance.sources if source.license_source == STATED]
    if len(stated) > _MOST_NAMED:
        return f"The licenses of {len(stated):,} repositories are stated by the user."
    names = [f"{source.license} of {source.repo}" for source in stated]
    return f"Stated by the user: the license {' and '.join(names)}." if names else ""
