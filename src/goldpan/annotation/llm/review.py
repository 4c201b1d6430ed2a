"""Has models review what a profile keeps: `goldpan review`.

The subjects are read once into a file. Then each step goes through them anew: counting what is
to be asked, asking, and judging by the replies that the archive holds. So memory follows the
batch, and a run that goes on does exactly what a run does that starts.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import orjson

from goldpan.annotation.llm.asking import Asker
from goldpan.annotation.llm.batches import Batcher
from goldpan.annotation.llm.case import Case, SubjectKind
from goldpan.annotation.llm.cases import CaseFile, case_file, read_cases
from goldpan.annotation.llm.costs import Ledger
from goldpan.annotation.llm.endpoint import connect
from goldpan.annotation.llm.memory import open_memory
from goldpan.annotation.llm.outcome import Usage
from goldpan.annotation.llm.prompt import Prompt
from goldpan.annotation.llm.settings import ReviewSettings
from goldpan.annotation.llm.stored import verdict_row, write_reviews
from goldpan.annotation.llm.subjects import KINDS
from goldpan.annotation.llm.walk import Estimate, Walk
from goldpan.filters.profile import Profile
from goldpan.progress import Reporter, Task
from goldpan.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review gave."""

    profile: str
    subjects: Mapping[str, int]
    """By prompt."""
    keep: Mapping[str, int]
    drop: Mapping[str, int]
    people: Mapping[str, int]
    """Subjects that people have to look at, by prompt."""
    reasons: Mapping[str, int]
    """Why subjects are dropped or go to people."""
    sent: int
    """Requests of this run."""
    answered: int
    """Requests that the archive answered."""
    usage: Usage
    cost: float
    cost_before: float
    complete: bool
    """Whether all requests were asked: else money ran out or a batch is under way."""
    seconds: float


def run_review(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> Reviewed:
    """Ask models for verdicts on kept subjects and write them beside the filter's.

    Raises `WorkspaceError` where a repository is not filtered, and `ReviewError` where the
    endpoint serves nobody; what was answered until then is kept and not asked again.
    """
    begun = time.monotonic()
    with (
        open_memory(workspace) as memory,
        _reading(workspace, repos, profile, settings, reporter) as cases,
    ):
        walk = Walk(memory, settings)
        ledger = Ledger(settings)
        found = walk.estimate(cases, ledger)
        sent, complete = 0, True
        if found.requests:
            with reporter.task("requests", found.requests) as task:
                sent, complete = _ask(walk, cases, ledger, settings, reporter, task)
        counts: dict[bool | None, Counter[str]] = {
            True: Counter(),
            False: Counter(),
            None: Counter(),
        }
        reasons: Counter[str] = Counter()
        names = [kind.prompt for kind in _kinds(settings)]
        decided = walk.decisions(cases)
        for repo, count in cases.repositories:
            rows = []
            for case, decision in islice(decided, count):
                prompt = walk.prompt(case)
                digest = settings_digest(prompt, settings)
                rows.append(verdict_row(case, decision, prompt.name, profile.name, digest))
                counts[decision.keep][prompt.name] += 1
                if decision.reason:
                    reasons[decision.reason] += 1
            write_reviews(workspace, repo, profile.name, rows, names)
        return Reviewed(
            profile.name,
            found.subjects,
            dict(counts[True]),
            dict(counts[False]),
            dict(counts[None]),
            dict(sorted(reasons.items())),
            sent,
            found.answered,
            ledger.usage,
            ledger.paid,
            ledger.paid_before,
            complete,
            time.monotonic() - begun,
        )


def estimate_review(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> Estimate:
    """Count what a review would send and cost; nothing is sent and nothing is written."""
    with (
        open_memory(workspace, write=False) as memory,
        _reading(workspace, repos, profile, settings, reporter) as cases,
    ):
        return Walk(memory, settings).estimate(cases, Ledger(settings))


def settings_digest(prompt: Prompt, settings: ReviewSettings) -> str:
    """Return what tells verdicts by other prompts, models or rules apart."""
    parts = [
        prompt.label,
        settings.models,
        settings.samples,
        settings.temperature,
        settings.seed,
        settings.max_tokens,
        settings.bounded_schema,
        settings.max_characters,
        settings.agreement,
        settings.confidence,
    ]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]


def _ask(
    walk: Walk,
    cases: CaseFile,
    ledger: Ledger,
    settings: ReviewSettings,
    reporter: Reporter,
    task: Task,
) -> tuple[int, bool]:
    """Ask until nothing is open, in rounds: a text that was too long is cut for the next one.

    Returns how many requests were sent, and whether that was all.
    """
    with connect(settings) as endpoint:
        asker = Asker(endpoint, walk.memory, ledger, settings.concurrency, task.advance)
        batcher = Batcher(endpoint, walk.memory, ledger, settings, task.advance, reporter.note)
        while True:
            before = asker.sent + batcher.sent
            wanted = {request.key: reasons for request, reasons in walk.open(cases)}
            if settings.batch:
                enough = batcher.ask(walk.open(cases), wanted)
            else:
                enough = batcher.take_up(wanted) and asker.ask(walk.open(cases))
            sent = asker.sent + batcher.sent
            # What a batch really cost may leave room for another one.
            if sent == before or not (enough or (settings.batch and settings.wait)):
                return sent, enough


@contextmanager
def _reading(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> Iterator[CaseFile]:
    """Give the subjects of all repositories as a file."""
    with case_file(workspace) as cases:
        with reporter.task("subjects", len(repos) * len(_kinds(settings))) as task:
            for repo in repos:
                cases.write(repo, _read(workspace, repo, profile, settings, task))
        yield cases


def _read(
    workspace: Workspace, repo: str, profile: Profile, settings: ReviewSettings, task: Task
) -> Iterator[Case]:
    for kind in _kinds(settings):
        yield from read_cases(workspace, repo, profile, kind, settings.limit)
        task.advance()


def _kinds(settings: ReviewSettings) -> list[SubjectKind]:
    return [kind for subject, kind in KINDS.items() if subject in settings.subjects]
