"""A real server for tests: llama.cpp's, with a tiny model of random weights."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

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
def serving(folder: Path, model: Path | None = None) -> Iterator[str]:
    """Give the address of a server of a model, else of one that babbles.

    The log, and the weights of that one, go into the folder.
    """
    path = model or folder / "tiny.gguf"
    if model is None:
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


_WIDTH, _HEADS, _HIDDEN, _LAYERS, _CONTEXT = 32, 2, 64, 1, 8192
_ALIGN = 32
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"


def write_model(path: Path, seed: int = 0) -> None:
    """Write a Llama of one layer whose tokens are the 256 bytes; it babbles."""
    rng = np.random.default_rng(seed)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3] + [6] * 256  # unknown, control, byte
    facts = [
        _text("general.architecture", "llama"),
        _text("general.name", "tiny"),
        _count("llama.context_length", _CONTEXT),
        _count("llama.embedding_length", _WIDTH),
        _count("llama.block_count", _LAYERS),
        _count("llama.feed_forward_length", _HIDDEN),
        _count("llama.attention.head_count", _HEADS),
        _count("llama.attention.head_count_kv", _HEADS),
        _string("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5),
        _count("llama.rope.dimension_count", _WIDTH // _HEADS),
        _text("tokenizer.ggml.model", "llama"),
        _list("tokenizer.ggml.tokens", _STRING, b"".join(map(_string, tokens)), len(tokens)),
        _list("tokenizer.ggml.scores", _FLOAT32, bytes(4 * len(tokens)), len(tokens)),
        _list("tokenizer.ggml.token_type", _INT32, struct.pack("<259i", *kinds), len(tokens)),
        _count("tokenizer.ggml.bos_token_id", 1),
        _count("tokenizer.ggml.eos_token_id", 2),
        _count("tokenizer.ggml.unknown_token_id", 0),
        _text("tokenizer.chat_template", _TEMPLATE),
    ]
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(tokens), _WIDTH),
        "output_norm.weight": (_WIDTH,),
        "output.weight": (len(tokens), _WIDTH),
    }
    for layer in range(_LAYERS):
        block = f"blk.{layer}"
        shapes |= {f"{block}.{name}_norm.weight": (_WIDTH,) for name in ("attn", "ffn")}
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes[f"{block}.{name}.weight"] = (_WIDTH, _WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            shapes[f"{block}.{name}.weight"] = (_HIDDEN, _WIDTH)
        shapes[f"{block}.ffn_down.weight"] = (_WIDTH, _HIDDEN)
    listed, data = b"", b""
    for name, shape in shapes.items():
        sizes = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        listed += _string(name) + struct.pack("<I", len(shape)) + sizes
        listed += struct.pack("<IQ", 0, len(data))
        values = np.ones(shape) if "norm" in name else rng.normal(0, 0.3, shape)
        data += values.astype("<f4").tobytes()
        data += bytes(-len(data) % _ALIGN)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(facts)) + b"".join(facts) + listed
    path.write_bytes(head + bytes(-len(head) % _ALIGN) + data)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _text(name: str, value: str) -> bytes:
    return _string(name) + struct.pack("<I", _STRING) + _string(value)


def _count(name: str, value: int) -> bytes:
    return _string(name) + struct.pack("<II", _UINT32, value)


def _list(name: str, kind: int, data: bytes, length: int) -> bytes:
    return _string(name) + struct.pack("<IIQ", _ARRAY, kind, length) + data
