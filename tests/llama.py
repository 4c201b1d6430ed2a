"""A real server for tests: llama.cpp's, with a tiny model of random weights."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tiny_gguf import write_model

needs_llama = pytest.mark.skipif(
    find_spec("xllamacpp") is None, reason="xllamacpp is not installed: pip install xllamacpp"
)
_SERVE = """
import sys
import xllamacpp
told = xllamacpp.CommonParams()
told.model.path = sys.argv[1]
told.n_parallel, told.n_ctx, told.warmup, told.verbosity = 2, 12288, False, 0
server = xllamacpp.Server(told)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def serving(place: Path) -> Iterator[str]:
    """Give the address of a server whose model babbles; its weights go into a directory."""
    path = place / "tiny.gguf"
    write_model(path)
    command = [sys.executable, "-c", _SERVE, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("http"))
        yield line.strip() + "/v1"
        process.kill()
