"""A real server for tests: llama.cpp's, with a tiny model of random weights."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tiny_gguf import write_model

needs_llama = pytest.mark.skipif(sys.platform != "linux", reason="xllamacpp is for Linux alone")
_SERVE = """
import sys
import xllamacpp
told = xllamacpp.CommonParams()
told.model.path = sys.argv[1]
told.n_parallel, told.n_ctx, told.warmup, told.verbosity = 2, 16384, False, 0
# One thread a model: others would wait for each other by spinning.
for threads in (told.cpuparams, told.cpuparams_batch):
    threads.n_threads, threads.poll = 1, 0
server = xllamacpp.Server(told)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Give the address of a server whose model babbles; its weights go into a directory."""
    path = folder / "tiny.gguf"
    write_model(path)
    command = [sys.executable, "-c", _SERVE, str(path)]
    with (
        (folder / "log").open("w+", errors="replace") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("http")), None)
        if line is None:
            log.seek(0)
            pytest.fail(f"The model server does not start:\n{log.read()}", pytrace=False)
        yield line.strip() + "/v1"
        process.kill()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a server for all tests."""
    with serving(tmp_path_factory.mktemp("model")) as url:
        yield url
