"""The command line: what becomes of its words, and of the failures of what they name."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from typing import NoReturn

from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.imports import spare_pandas
from goldpan.core.log import WORDS
from goldpan.core.plugins.loading import culprit
from goldpan.core.remote import push_opened, with_addresses
from goldpan.core.secrets import mask, register_environment


def mine_main() -> NoReturn:
    """Run `mine`, which is `goldpan mine`."""
    main(["mine", *sys.argv[1:]])


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run `goldpan` with these words, by default those of the command line."""
    words = sys.argv[1:] if words is None else words
    # DuckDB and pyarrow read paths as UTF-8 alone: then start again in Python's UTF-8 mode.
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        told = {"PYTHONUTF8": "1", "PYTHONIOENCODING": sys.stdout.encoding}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **told})  # noqa: S606
    gc.set_threshold(50_000)  # what starting makes stays, and is not worth looking through
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a locale may lack characters of GitHub's texts
            stream.reconfigure(errors="backslashreplace")
    WORDS.set(tuple(words))
    spare_pandas()
    register_environment()
    exit_code = _exit_code(partial(_start, words))
    pushed = _exit_code(push_opened)
    sys.exit(exit_code or pushed)


def _start(words: Sequence[str]) -> int:
    from goldpan.commands.program import run_words  # whose import may be interrupted, too

    return run_words(words)


def _exit_code(work: Callable[[], int | None]) -> str | int | None:
    """Do some work, tell people of its failure, and return the exit code."""
    try:
        return work() or 0
    except SystemExit as end:
        return end.code
    except GoldpanError as error:
        _complain(error.reworded(with_addresses(error.problem), with_addresses(error.remedy)))
        return error.exit_code
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        _complain(StoppedError("Stopped", "Run the same command again to resume"))
        return StoppedError.exit_code
    except Exception as error:  # noqa: BLE001 - the last resort: people get a sentence, not a trace
        from goldpan.core.resources import explain

        explained = explain(error) or culprit(error)
        if explained is None:
            _defect(error)
        _complain(explained)
        return explained.exit_code


def _defect(error: Exception) -> NoReturn:
    """Keep the trace of a defect of our own in a file and say where."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="goldpan-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(mask("".join(traceback.format_exception(error))))
    _complain(
        GoldpanError(
            f"Goldpan itself failed ({type(error).__name__}: {error})",
            f"Please report it with {file.name}. What was fetched is kept; run the command again",
        )
    )
    sys.exit(1)


def _complain(error: GoldpanError) -> None:
    from goldpan.core.terminal import complain

    complain(error)
