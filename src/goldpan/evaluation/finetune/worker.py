"""One process of a training, as a launcher starts it.

    torchrun --standalone --nproc_per_node 8 -m goldpan.evaluation.finetune.worker DIRECTORY ...

`launch.py` gives the directory of the job, a file that who started it holds a lock on, and how
many rows to take at once.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.progress import Reporter
from goldpan.evaluation.finetune.engines import join
from goldpan.evaluation.finetune.launch import OUTCOME, PROGRESS, WORKERS
from goldpan.evaluation.finetune.settings import read_job
from goldpan.evaluation.finetune.training import TooLargeError, train
from goldpan.evaluation.model import load


class _Signs(Reporter):
    """Writes how far the training is, and ends it when nobody waits for it any more."""

    def __init__(self, directory: Path, starter: Path, *, writes: bool) -> None:
        super().__init__(quiet=not writes)
        self._directory = directory
        self._starter = starter
        self._writes = writes

    def _begin(self, title: str, total: int) -> Any:
        return None

    def _update(self, task: Any, done: int, total: int) -> None:
        if not _is_locked(self._starter):
            raise StoppedError("The process that started this training is gone", "Start it again")
        if self._writes:
            unfinished = self._directory / f"{PROGRESS}.unfinished"
            unfinished.write_bytes(orjson.dumps((done, total)))
            unfinished.replace(self._directory / PROGRESS)


def _is_locked(path: Path) -> bool:
    """Return whether somebody holds a lock on a file; nobody does when it is gone."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def work(directory: Path, starter: Path, device_batch: int) -> int:
    """Train as one of several; return the exit code."""
    with (directory / WORKERS).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            job = read_job(directory)
            group = join(job.settings)
            signs = _Signs(directory, starter, writes=group.first)
            train(job, group, device_batch, signs)
            load("torch.distributed").destroy_process_group()
        except TooLargeError:
            return _tell(directory, {"too_large": True})
        except GoldpanError as error:
            return _tell(directory, {"problem": error.problem, "remedy": error.remedy})
    return 0


def _tell(directory: Path, outcome: dict[str, Any]) -> int:
    """Leave why the training ended, unless another process did already."""
    mine = directory / f"{OUTCOME}.{os.getpid()}"
    mine.write_bytes(orjson.dumps(outcome))
    with suppress(FileExistsError):
        (directory / OUTCOME).hardlink_to(mine)
    mine.unlink()
    return 1


def main() -> None:
    """Run as a program."""
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--local_rank")]
    directory, starter, device_batch = arguments
    code = work(Path(directory), Path(starter), int(device_batch))
    # Threads of libraries may wait for processes that are gone: an orderly exit could hang.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
