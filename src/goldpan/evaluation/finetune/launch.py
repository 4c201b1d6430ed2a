"""Starts a training: here for one process, else by torchrun, which starts one a device.

    torchrun --standalone --nproc_per_node 8 -m goldpan.evaluation.finetune.launch DIRECTORY ...

is such a process; it gets the directory of the job, how many rows to take at once, and the name of
the checkpoint to go on from. It says on standard output, in lines of JSON, how far it is and why it
ends; when nobody reads them any more, it ends at its next step.

    DIRECTORY/
    ├── job/            task, rows, settings and seed of a launched training
    ├── versions.json   those of the packages that train; with others, the training begins anew
    ├── checkpoints/    those of transformers' Trainer
    ├── trained.json    facts of a finished training, the last that it leaves
    └── training.log    what else launched processes say

Rows that do not fit are halved until they do.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import read_table, write_table
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.datasets.tasks.registry import task_of
from goldpan.evaluation.environment import read_environment
from goldpan.evaluation.finetune.job import (
    CHECKPOINTS,
    STATE,
    TRAINED,
    TooLargeError,
    TrainingJob,
    TrainingSettings,
    device_share,
)
from goldpan.evaluation.model import load

_WORKERS = "workers.lock"
"""Held as long as a launcher lives."""
_LOG = "training.log"
_SIZE = "device-batch"
_VERSIONS = "versions.json"
_PATIENCE = 30.0


def run_job(job: TrainingJob, reporter: Reporter) -> dict[str, Any]:
    """Train, or go on training, and return the facts; a finished training is not repeated.

    Raises `EvaluationError` where it cannot be done.
    """
    trained, size_file = job.directory / TRAINED, job.directory / _SIZE
    _begin_anew_with_other_versions(job.directory, reporter)
    while not trained.exists():
        size = job.settings.device_batch or job.settings.batch // job.settings.processes
        if size_file.exists():
            size = int(size_file.read_text())
        checkpoint = _newest_checkpoint(job.directory)
        try:
            if _alone(job):
                from goldpan.evaluation.finetune.trainer import train

                train(job, size, checkpoint, reporter)
            else:
                _launch(job, size, checkpoint, reporter)
        except TooLargeError:
            half = _halved(job, size)
            write_whole(size_file, str(half).encode())
            reporter.note(f"Out of memory with {size} rows at once: continuing with {half}")
    return dict(orjson.loads(trained.read_bytes()))


def _begin_anew_with_other_versions(directory: Path, reporter: Reporter) -> None:
    """Remove what other versions learned, which goes on otherwise or not at all."""
    here, path = read_environment(), directory / _VERSIONS
    versions = orjson.dumps([here.goldpan, here.revision, here.packages])
    if path.exists() and path.read_bytes() == versions:
        return
    if (directory / CHECKPOINTS).exists():
        reporter.note("A training was begun here with other versions: it begins anew")
        shutil.rmtree(directory / CHECKPOINTS)
        (directory / TRAINED).unlink(missing_ok=True)
    write_whole(path, versions)


def _newest_checkpoint(directory: Path) -> Path | None:
    """Return the newest checkpoint that is there to its end, and whose best step is."""
    paths = (directory / CHECKPOINTS).glob("checkpoint-*")
    for path in sorted(paths, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        try:
            best = orjson.loads((path / STATE).read_bytes())["best_global_step"]
        except (OSError, ValueError):
            continue
        if not best or (path.with_name(f"checkpoint-{best}") / STATE).exists():
            return path
    return None


def _alone(job: TrainingJob) -> bool:
    """Return whether this process trains itself; beside other GPUs, it would take them too."""
    if job.settings.processes > 1 or job.settings.deepspeed != "none":
        return False
    return job.settings.device == "cpu" or load("torch").cuda.device_count() < 2


def _halved(job: TrainingJob, size: int) -> int:
    if size == 1:
        raise EvaluationError(
            f"Not even one row of {job.task.name} fits into memory with the model",
            "Set recompute=true or a smaller max_length, choose --lora or --deepspeed "
            "zero3-offload, or take smaller weights",
        )
    gc.collect()
    torch = load("torch")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return device_share(job.settings.batch, job.settings.processes, size // 2)


def _launch(job: TrainingJob, size: int, checkpoint: Path | None, reporter: Reporter) -> None:
    """Run torchrun to its end while showing how far its processes are."""
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc_per_node", str(job.settings.processes)),
        *("-m", "goldpan.evaluation.finetune.launch"),
        *(str(job.directory.resolve()), str(size), checkpoint.name if checkpoint else ""),
    ]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    environment.setdefault("OMP_NUM_THREADS", "1")
    path = job.directory / _LOG
    with (
        (job.directory / _WORKERS).open("ab") as workers,
        path.open("ab") as log,
        reporter.task(f"{job.task.name}: steps", 0) as progress,
    ):
        _wait_for_others(workers, reporter)
        _write_job(job)
        with subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env=environment,
            pass_fds=(workers.fileno(),),
        ) as process:
            try:
                outcome = _listen(process, log, progress)
            except BaseException:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
                process.kill()
                raise
    if outcome.get("too_large"):
        raise TooLargeError
    if outcome or not (job.directory / TRAINED).exists():
        ended = f"The training ended with exit code {process.returncode}: {_last_line(path)}"
        raise EvaluationError(
            outcome.get("problem") or ended,
            outcome.get("remedy") or f"See {path}; the same command resumes",
        )


def _wait_for_others(workers: BinaryIO, reporter: Reporter) -> None:
    """Return when no launcher of an earlier start is left in the directory."""
    try:
        fcntl.flock(workers, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        reporter.note("Waiting for processes of an earlier start to end")
        fcntl.flock(workers, fcntl.LOCK_EX)


def _listen(process: subprocess.Popen[bytes], log: BinaryIO, progress: ProgressTask) -> Any:
    """Show the steps that processes report, and return the first reason to end; else nothing."""
    outcome: dict[str, Any] = {}
    assert process.stdout is not None
    for text in process.stdout:
        try:
            told = orjson.loads(text)
            done, total = told.pop("steps", (0, 0))
        except (ValueError, AttributeError):  # libraries print, too
            log.write(text)
            continue
        if total:
            progress.extend(total - progress.total)
            progress.advance(done - progress.done)
        outcome = outcome or told
    return outcome


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 10_000))
        lines = file.read().decode(errors="replace").splitlines()
    # The launcher's own error, which comes last, only says that there was one.
    errors = [row for row in lines if "Error" in row and "ChildFailedError" not in row]
    return line(mask((errors or lines or [""])[-1]), 300)


def _write_job(job: TrainingJob) -> None:
    folder = job.directory / "job"
    folder.mkdir(exist_ok=True)
    write_table(job.train, folder / "train.parquet")
    if job.validation is not None:
        write_table(job.validation, folder / "validation.parquet")
    facts = {
        "task": asdict(job.task),
        "settings": asdict(job.settings),
        "seed": job.seed,
        "weights": str(job.weights.resolve()),
    }
    write_whole(folder / "job.json", orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def _read_job(directory: Path) -> TrainingJob:
    folder = directory / "job"
    data = orjson.loads((folder / "job.json").read_bytes())
    chosen = folder / "validation.parquet"
    return TrainingJob(
        task_of(data["task"], str(folder)),
        read_table(folder / "train.parquet"),
        read_table(chosen) if chosen.exists() else None,
        TrainingSettings(**data["settings"]),
        data["seed"],
        Path(data["weights"]),
        directory,
    )


class _Steps(ProgressTask):
    """Writes how far the training is, which fails when nobody reads it any more."""

    def _draw(self) -> None:
        _tell({"steps": (self.done, self.total)})


class _Teller(Reporter):
    @contextmanager
    def task(self, title: str, total: int) -> Iterator[ProgressTask]:
        yield _Steps(self, title, total)


def _tell(what: dict[str, Any]) -> None:
    """Write a line at once, so that those of several processes do not mix."""
    os.write(sys.stdout.fileno(), orjson.dumps(what) + b"\n")


def main() -> None:
    """Train as one of several processes."""
    directory, device_batch, checkpoint = sys.argv[1:]
    from goldpan.evaluation.finetune.trainer import train

    place = Path(directory)
    code = 1
    try:
        path = place / CHECKPOINTS / checkpoint if checkpoint else None
        reporter = _Teller(quiet=True) if os.environ["RANK"] == "0" else Reporter(quiet=True)
        train(_read_job(place), int(device_batch), path, reporter)
        load("torch.distributed").destroy_process_group()
        code = 0
    except TooLargeError:
        _tell({"too_large": True})
    except GoldpanError as error:
        _tell({"problem": error.problem, "remedy": error.remedy})
    # Threads of libraries may wait for processes that are gone: an orderly exit could hang.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
