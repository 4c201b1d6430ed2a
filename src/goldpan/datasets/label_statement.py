"""What card, provenance and Croissant say of the labels of a dataset, in the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.datasets.gold import GoldScore, SampleScore
from goldpan.datasets.manifest import CardInputs, Written
from goldpan.datasets.provenance import Provenance
from goldpan.miners.facts import STATED

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class LabelStatement:
    """How labels were made, how right they are, and what share of the subjects has one."""

    rule: str
    threshold: str | None
    """The setting of the rule that a label has to reach; None where it has none."""
    profile: str | None
    reviews: tuple[str, ...]
    made: str
    """The above in a sentence."""
    accuracy: str
    """How right the labels are, in a sentence, with its interval."""
    measured_on: Literal["sample", "gold set", "other repositories", "nothing"]
    """What that rests on."""
    rows: int
    considered: int
    """The subjects that there were."""
    eligible: int | None
    """Of these, issues that somebody answered; None where that is no condition."""
    held: str
    """The share that has a row, in a sentence."""
    stated_licenses: str
    """Licenses that the user stated, in a sentence; empty for none."""


def state_labels(
    written: Written, card: CardInputs, provenance: Provenance
) -> LabelStatement | None:
    """Return the statement; None for labels that are somebody else's."""
    if not card.label_rule:
        return None
    profile = provenance.profile.get("name")
    reviews = tuple(sorted(provenance.reviews))
    by = f" and the review {' and '.join(reviews)}" if reviews else ", without a review"
    threshold = f", with at least {card.label_threshold}" if card.label_threshold else ""
    measured_on: Literal["sample", "gold set", "other repositories", "nothing"] = "nothing"
    accuracy = "How right they are was not measured."
    judged = [score for score in written.scores if score.labelled]
    others = [score.gold for score in written.scores if not score.labelled]
    if judged:
        measured_on = "sample" if judged[0].sample else "gold set"
        accuracy = " ".join(map(_of_gold, judged))
    elif card.label_accuracy:
        measured_on, accuracy = "other repositories", f"{card.label_accuracy}."
    if others:
        accuracy += f" No judgement in {' and '.join(others)} decides on any of these rows."
    answered = "" if card.eligible is None else f", of which somebody answered {card.eligible:,}"
    return LabelStatement(
        card.label_rule,
        card.label_threshold or None,
        profile,
        reviews,
        f"{card.label_rule}{threshold}" + (f"; by the profile {profile}{by}." if profile else "."),
        accuracy,
        measured_on,
        written.rows,
        card.considered,
        card.eligible,
        f"The rows are made of {written.rows:,} of {card.considered:,} {card.subjects}{answered}.",
        _stated(provenance),
    )


def _of_gold(score: GoldScore) -> str:
    shares = f"{score.right.percent()} are right"
    if "partly" in score.labels:
        shares += f", {score.at_least_partly.percent()} at least in part"
    if score.sample is None:
        return f"Of {score.labelled:,} rows in the gold set {score.gold}, {shares}."
    return f"{_reading(score.sample)}: {shares}.{_undecided(score.sample)}"


def _reading(sample: SampleScore) -> str:
    drawn = f"Of {sample.drawn:,} rows drawn with seed {sample.seed}"
    readers = " and ".join(sample.readers) or "nobody"
    kappas = [
        f"Cohen's kappa {'not defined' if pair.kappa is None else format(pair.kappa, '.2f')} on "
        f"{pair.rows:,} rows"
        for pair in sample.pairs
    ]
    agreed = f" ({'; '.join(kappas)})" if kappas else ""
    return f"{drawn}, {sample.read:,} were read by {readers}{agreed}"


def _undecided(sample: SampleScore) -> str:
    return f" {sample.cannot_tell:,} could not be judged." if sample.cannot_tell else ""


def _stated(provenance: Provenance) -> str:
    stated = [source for source in provenance.sources if source.license_source == STATED]
    if len(stated) > _MOST_NAMED:
        return f"The licenses of {len(stated):,} repositories are stated by the user."
    names = [f"{source.license} of {source.repo}" for source in stated]
    return f"Stated by the user: the license {' and '.join(names)}." if names else ""
