"""Starts a training: here for one process, else by a launcher that starts one a device.

Rows that do not fit are halved until they do. Processes that outlive who started them end at
their next step, and nobody else starts in their directory before that.

    torchrun --standalone --nproc_per_node 8 -m goldpan.evaluation.finetune.launch DIRECTORY ...

is such a process; it gets the directory of the job and how many rows to take at once. Its standard
input ends when who started it does.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from select import select
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError, GoldpanError, StoppedError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import Reporter
from goldpan.evaluation.finetune.engines import ProcessGroup, join
from goldpan.evaluation.finetune.job import TrainingJob, read_job, write_job
from goldpan.evaluation.finetune.loading import pick_device
from goldpan.evaluation.finetune.training import TooLargeError, read_trained, train
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
    stored = read_trained(job.directory)
    while stored is None:
        size = _device_batch(job)
        try:
            if job.settings.processes == 1 and job.settings.deepspeed == "none":
                group = ProcessGroup(pick_device(job.settings.device))
                train(job, group, size, reporter)
            else:
                _launched(job, size, reporter)
        except TooLargeError:
            _halve(job, size, reporter)
        stored = read_trained(job.directory)
    return stored


def _device_batch(job: TrainingJob) -> int:
    path = job.directory / _SIZE
    if path.exists():
        return int(path.read_text())
    share = -(-job.settings.batch // job.settings.processes)
    return min(job.settings.device_batch or share, share)


def _halve(job: TrainingJob, size: int, reporter: Reporter) -> None:
    if size == 1:
        raise EvaluationError(
            f"Not even one row of {job.task.name} fits into memory with the model",
            "Set recompute=true or a smaller max_length, choose --lora or --deepspeed "
            "zero2-offload, or take smaller weights",
        )
    gc.collect()
    torch = load("torch")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    write_whole(job.directory / _SIZE, str(size // 2).encode())
    reporter.note(f"{size} rows at once do not fit: going on with {size // 2}, same steps")


def _launched(job: TrainingJob, size: int, reporter: Reporter) -> None:
    _wait_for_others(job.directory, reporter)
    write_job(job)
    for name in (OUTCOME, PROGRESS):
        (job.directory / name).unlink(missing_ok=True)
    code = _watched(job, [*_launcher(job), str(job.directory.resolve()), str(size)], reporter)
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


def _launcher(job: TrainingJob) -> list[str]:
    """Return the command that starts this module once a device."""
    module = "goldpan.evaluation.finetune.launch"
    processes = str(job.settings.processes)
    if job.settings.launcher == "torchrun":
        start = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        return [*start, "--nproc_per_node", processes, "-m", module]
    if find_spec("deepspeed") is None:  # it takes long to import, and only its program is needed
        load("deepspeed")
    program = Path(sysconfig.get_path("scripts")) / "deepspeed"
    devices = ["--num_gpus", processes]
    # With a number it would take the first GPUs, also those of somebody else.
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if visible and job.settings.device != "cpu":
        numbers = ",".join(visible.split(",")[: job.settings.processes])
        devices = ["--include", f"localhost:{numbers}"]
    port = ["--master_port", str(_free_port())]
    return [sys.executable, str(program), *devices, *port, "--module", module]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


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


def work(directory: Path, device_batch: int) -> int:
    """Train as one of several; return the exit code."""
    with (directory / WORKERS).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            job = read_job(directory)
            group = join(job.settings)
            train(job, group, device_batch, _Signs(directory, writes=group.first))
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
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--local_rank")]
    directory, device_batch = arguments
    code = work(Path(directory), int(device_batch))
    # Threads of libraries may wait for processes that are gone: an orderly exit could hang.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
