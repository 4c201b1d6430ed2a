"""Starts a training: here for one process, else by a launcher that starts one a device.

Rows that do not fit are halved until they do. Processes that outlive who started them end at
their next step, and nobody else starts in their directory before that.

    torchrun --standalone --nproc_per_node 8 -m goldpan.evaluation.finetune.launch DIRECTORY ...

is such a process; it gets the directory of the job, how many rows to take at once, and the name of
the checkpoint to go on from. Its standard input ends when who started it does.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError, GoldpanError, StoppedError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import Reporter
from goldpan.evaluation.finetune.arguments import CHECKPOINTS, STATE
from goldpan.evaluation.finetune.job import (
    TooLargeError,
    TrainingJob,
    read_job,
    read_trained,
    write_job,
)
from goldpan.evaluation.finetune.steps import device_share
from goldpan.evaluation.model import load

OUTCOME = "outcome.json"
"""Failure of a launched training, written by its first process."""
PROGRESS = "progress.json"
WORKERS = "workers.lock"
"""Held by all processes of a launched training."""
_LOG = "training.log"
_SIZE = "device-batch"
_SECONDS = 0.5
_PATIENCE = 30.0


def run_job(job: TrainingJob, reporter: Reporter) -> dict[str, Any]:
    """Train, or go on training, and return the facts; a finished training is not repeated.

    Raises `EvaluationError` where it cannot be done.
    """
    while (facts := read_trained(job.directory)) is None:
        _wait_for_others(job.directory, reporter)
        size = _device_batch(job)
        checkpoint = _newest_checkpoint(job.directory)
        try:
            if _alone(job):
                from goldpan.evaluation.finetune.trainer import train

                train(job, size, checkpoint, reporter)
            else:
                _launched(job, size, checkpoint, reporter)
        except TooLargeError:
            _halve(job, size, reporter)
    return facts


def _newest_checkpoint(directory: Path) -> Path | None:
    """Return the newest checkpoint that is there to its end, and whose best step is.

    The Trainer writes the state of a checkpoint last.
    """
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


def _device_batch(job: TrainingJob) -> int:
    path = job.directory / _SIZE
    if path.exists():
        return int(path.read_text())
    return job.settings.device_batch or job.settings.batch // job.settings.processes


def _halve(job: TrainingJob, size: int, reporter: Reporter) -> None:
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
    half = device_share(job.settings.batch, job.settings.processes, size // 2)
    write_whole(job.directory / _SIZE, str(half).encode())
    reporter.note(f"Out of memory with {size} rows at once: continuing with {half}, same steps")


def _launched(job: TrainingJob, size: int, checkpoint: Path | None, reporter: Reporter) -> None:
    write_job(job)
    for name in (OUTCOME, PROGRESS):
        (job.directory / name).unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc_per_node", str(job.settings.processes)),
        *("-m", "goldpan.evaluation.finetune.launch"),
        *(str(job.directory.resolve()), str(size), checkpoint.name if checkpoint else ""),
    ]
    code = _watched(job, command, reporter)
    if read_trained(job.directory) is not None:
        return
    path = job.directory / OUTCOME
    stored = orjson.loads(path.read_bytes()) if path.exists() else {}
    if stored.get("too_large"):
        raise TooLargeError
    log = job.directory / _LOG
    raise EvaluationError(
        stored.get("problem") or f"The training ended with exit code {code}: {_last_line(log)}",
        stored.get("remedy") or f"See {log}; the same command resumes from the last checkpoint",
    )


def _watched(job: TrainingJob, command: list[str], reporter: Reporter) -> int:
    """Run a launcher to its end while showing how far its processes are."""
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    environment.setdefault("OMP_NUM_THREADS", "1")
    if job.settings.device == "cpu" or not load("torch").cuda.is_available():
        environment["DS_ACCELERATOR"] = "cpu"
    with (
        (job.directory / _LOG).open("ab") as log,
        reporter.task(f"{job.task.name}: steps", 0) as progress,
        subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        ) as process,
    ):
        try:
            while process.poll() is None:
                time.sleep(_SECONDS)
                done, total = read_progress(job.directory)
                progress.extend(total - progress.total)
                progress.advance(done - progress.done)
        finally:
            _end(process)
    return process.returncode


def read_progress(directory: Path) -> tuple[int, int]:
    """Return the steps that are done, and those that there are."""
    try:
        done, total = orjson.loads((directory / PROGRESS).read_bytes())
    except (OSError, ValueError):
        return 0, 0
    return int(done), int(total)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a launcher that still runs, with the processes that it started."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_others(directory: Path, reporter: Reporter) -> None:
    """Return when no process of an earlier start trains in the directory."""
    with (directory / WORKERS).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reporter.note("Waiting for processes of an earlier start to end")
            fcntl.flock(file, fcntl.LOCK_EX)


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 10_000))
        lines = file.read().decode(errors="replace").splitlines()
    # The launcher's own error, which comes last, only says that there was one.
    errors = [row for row in lines if "Error" in row and "ChildFailedError" not in row]
    return line(mask((errors or lines or [""])[-1]), 300)


class _Signs(Reporter):
    """Writes how far the training is, and ends it when nobody waits for it any more."""

    def __init__(self, directory: Path, *, writes: bool) -> None:
        super().__init__(quiet=not writes)
        self._directory = directory
        self._writes = writes

    def _begin(self, title: str, total: int) -> Any:
        return None

    def _update(self, task: Any, done: int, total: int) -> None:
        if select([sys.stdin], [], [], 0)[0]:
            raise StoppedError("The process that started this training is gone", "Start it again")
        if self._writes:
            unfinished = self._directory / f"{PROGRESS}.unfinished"
            unfinished.write_bytes(orjson.dumps((done, total)))
            unfinished.replace(self._directory / PROGRESS)


def work(directory: Path, device_batch: int, checkpoint: str) -> int:
    """Train as one of several; return the exit code."""
    with (directory / WORKERS).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            from goldpan.evaluation.finetune.trainer import train

            path = directory / CHECKPOINTS / checkpoint if checkpoint else None
            signs = _Signs(directory, writes=os.environ["RANK"] == "0")
            train(read_job(directory), device_batch, path, signs)
            load("torch.distributed").destroy_process_group()
        except TooLargeError:
            return _leave(directory, {"too_large": True})
        except GoldpanError as error:
            return _leave(directory, {"problem": error.problem, "remedy": error.remedy})
    return 0


def _leave(directory: Path, outcome: dict[str, Any]) -> int:
    """Write why the training ended, unless another process did already; return the exit code."""
    mine = directory / f"{OUTCOME}.{os.getpid()}"
    mine.write_bytes(orjson.dumps(outcome))
    with suppress(FileExistsError):
        (directory / OUTCOME).hardlink_to(mine)
    mine.unlink()
    return 1


def main() -> None:
    """Run as a program."""
    directory, device_batch, checkpoint = sys.argv[1:]
    code = work(Path(directory), int(device_batch), checkpoint)
    # Threads of libraries may wait for processes that are gone: an orderly exit could hang.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
