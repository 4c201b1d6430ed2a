"""Runs units of a plan on a Ray cluster: a machine opens the plan itself, and does one unit.

Names of files and units travel, and no table, token or key.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from goldpan._version import __version__
from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.parallel.engine import (
    AHEAD,
    EngineError,
    LostError,
    RayCluster,
    Submitted,
    open_engine,
)
from goldpan.core.storage.workspace import make_directory
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.plan.due import Job
from goldpan.plan.file import PlanFile, load_plan
from goldpan.plan.make import make_steps, open_workspace
from goldpan.plan.mining import read_selection, repositories_of
from goldpan.plan.step import Context, Step
from goldpan.plan.unit import Outcome
from goldpan.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Probe:
    """Files by which a machine shows that it sees the workspace as the others do."""

    folder: Path
    plan: Path
    secret: str
    node: str = ""
    """The machine that is asked."""

    @property
    def question(self) -> Path:
        """The file that is written where the plan is run."""
        return self.folder / "question"

    @property
    def answer(self) -> Path:
        """The file that the machine writes."""
        return self.folder / f"answer-{self.node}"

    def __str__(self) -> str:
        return f"the files of {self.plan}"

    def require(self) -> None:
        """Raise `EngineError` where this machine does not see the files."""
        try:
            is_visible = (
                self.question.read_text(encoding="utf-8") == self.secret and self.plan.is_file()
            )
        except OSError:
            is_visible = False
        if not is_visible:
            raise EngineError(
                f"It does not see the files in {self.folder.parents[2]} and {self.plan}",
                "Put the plan and its workspace on a file system that all machines have under the "
                "same path",
            )


@dataclass(frozen=True, slots=True)
class ClusterCall:
    """A unit, or a part of one, as it travels."""

    plan: Path
    workspace: Path
    api_url: str
    probe: Probe
    unit: str
    part: int | None

    def __str__(self) -> str:
        return self.unit if self.part is None else f"{self.unit}, part {self.part + 1}"


@contextmanager
def open_cluster(execution: Execution) -> Iterator[RayCluster | None]:
    """Open the cluster that a plan is run on, None for this machine; see `open_engine`.

    Without an address it is one of this machine alone.
    """
    processes = 1 if execution.engine == "local" else execution.workers or os.cpu_count() or 1
    with open_engine(execution, processes) as opened:
        yield opened if isinstance(opened, RayCluster) else None


class PlanCluster:
    """The machines on which units of a plan are done."""

    def __init__(self, ray: RayCluster, file: PlanFile, lab: Workspace, reporter: Reporter) -> None:
        """Take a cluster; the paths of the plan and its workspace need not be absolute."""
        self._ray = ray
        self._reporter = reporter
        self._root = lab.path
        root, plan = lab.path.absolute(), file.path.absolute()
        folder = Context(file, lab).folder.absolute() / "cluster"
        self._probe = Probe(folder, plan, secrets.token_hex(8))
        self._call = partial(ClusterCall, plan, root, lab.settings.api_url, self._probe)

    def takes(self, step: Step) -> bool:
        """Tell whether a unit is one for the machines."""
        try:
            return not step.files.runs_locally(step)
        except GoldpanError:  # running it tells what is wrong
            return False

    def run(self, jobs: Sequence[Job]) -> None:
        """Run units that do not depend on one another; each is recorded when it ends."""
        waiting = deque(jobs)
        sent: dict[str, tuple[Job, list[Submitted[Outcome]]]] = {}
        try:
            while waiting or sent:
                while waiting and len(sent) < AHEAD * self._ray.processors:
                    job = waiting.popleft()
                    if (parts := self._send(job)) is not None:
                        sent[job.step.unit.name] = job, parts
                futures = [part.future for _, parts in sent.values() for part in parts]
                wait([future for future in futures if not future.done()], None, FIRST_COMPLETED)
                for job, parts in list(sent.values()):
                    if all(part.future.done() for part in parts):
                        del sent[job.step.unit.name]
                        self._end(job, parts)
        finally:
            for _, parts in sent.values():
                for part in parts:
                    part.cancel()

    def _send(self, job: Job) -> list[Submitted[Outcome]] | None:
        """Hand in a unit, or all its parts; None where it failed before."""
        step, name = job.step, job.step.unit.name
        try:
            job.begin()
            if step.gpus > self._ray.gpus:
                self._reporter.note(f"{name} waits for a machine with {step.gpus:g} GPUs")
            calls = [self._call(name, part) for part in range(step.parts)]
            calls = calls or [self._call(name, None)]
            return [self._ray.submit(run_call, call, gpus=step.gpus) for call in calls]
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - no unit stops the others
            job.fail(error)
            return None

    def _end(self, job: Job, parts: Sequence[Submitted[Outcome]]) -> None:
        try:
            outcomes = [part.result() for part in parts]
            outcome = job.step.join(outcomes) if job.step.parts else outcomes[0]
            root = self._root.absolute()
            outputs, retained = (
                tuple(self._root / path.relative_to(root) for path in paths)
                for paths in (outcome.made, outcome.kept)
            )
            job.end(replace(outcome, made=outputs, kept=retained))
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - no unit stops the others
            job.fail(error)

    @contextmanager
    def checked(self) -> Iterator[Self]:
        """Give itself once all machines have shown the same files and the same Goldpan.

        A machine that joins later is asked before each of its units. Raises `EngineError`, which
        names the machine and the remedy.
        """
        folder = self._probe.folder
        make_directory(folder)
        self._probe.question.write_text(self._probe.secret, encoding="utf-8")
        try:
            machines = self._ray.machines
            probes = [replace(self._probe, node=node) for node in machines]
            for probe in probes:
                probe.answer.exists()  # a client of NFS may remember that it is not there
            answers = [self._ray.submit_to(probe.node, answer, probe) for probe in probes]
            answered = [
                _answers(machines[probe.node], probe, submitted)
                for probe, submitted in zip(probes, answers, strict=True)
            ]
            if not any(answered):
                raise EngineError(
                    "No machine of the Ray cluster has a processor for work",
                    "Start one with ray start --address, and see ray status",
                )
            yield self
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _answers(machine: str, probe: Probe, submitted: Submitted[str]) -> bool:
    """Tell whether a machine is there; raises `EngineError` where it is and cannot do the work."""
    try:
        version = submitted.result()
    except LostError:
        return False
    except GoldpanError as error:
        raise EngineError(
            f"The machine {machine} cannot work on the plan: {error.problem}", error.remedy
        ) from None
    except Exception as error:  # noqa: BLE001 - Ray's own, where Goldpan cannot be imported there
        raise EngineError(
            f"The machine {machine} cannot import Goldpan ({error})",
            f"Install version {__version__} on it, with the same Python and Ray",
        ) from None
    if version != __version__:
        raise EngineError(
            f"The machine {machine} has version {version} of Goldpan, and this one {__version__}",
            "Install the same version on all",
        )
    try:
        answered = probe.answer.read_text(encoding="utf-8") == probe.secret
    except OSError:
        answered = False
    if not answered:
        raise EngineError(
            f"What the machine {machine} writes to {probe.folder} is not seen here at once",
            "Mount an NFS with lookupcache=positive on all machines",
        )
    return True


def answer(probe: Probe) -> str:
    """Show on a machine that it sees the files, and return its version of Goldpan."""
    probe.require()
    probe.answer.write_text(probe.secret, encoding="utf-8")
    return __version__


def run_call(call: ClusterCall) -> Outcome:
    """Do a unit on the machine that Ray chose; raises what the unit raises."""
    call.probe.require()
    file = load_plan(call.plan)
    # Ray gives one processor to a unit.
    lab = open_workspace(file, call.workspace, api_url=call.api_url, workers=1)
    context = Context(file, lab, "ray")
    selection = read_selection(context.selection_file)
    steps = make_steps(context, repositories_of(file.plan.repositories, selection))
    step = next((step for step in steps if step.unit.name == call.unit), None)
    if step is None:
        raise EngineError(f"{call.plan} has no such unit", "Do not change it while it runs")
    outcome = step.run() if call.part is None else step.run_part(call.part)
    return replace(outcome, results=())  # what people see may hold rows
