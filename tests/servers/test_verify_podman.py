"""Foreign code in containers, by Podman where it works: apart, bounded, and judged by its tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.execution.command import IsolationError
from goldpan.execution.isolation import find_isolation
from goldpan.execution.records import TrialSettings
from tests.containers import NoEngineError, shell_image
from tests.shell_lab import Lab
from tests.verifying import probes, probing

FIXED = "grep -q 2 value"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialSettings]:
    try:
        with shell_image(tmp_path_factory.mktemp("podman")) as image:
            yield TrialSettings(120, 1 << 30, repeats=2, isolation="podman", image=image)
    except NoEngineError as error:
        pytest.skip(f"needs Podman: {error}")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_fix_is_verified_in_containers_and_the_record_names_the_image(
    lab: Lab, settings: TrialSettings
) -> None:
    instance = lab.instance(f"echo checked; {FIXED}")
    record = lab.verify(instance, settings)
    assert record.proof.verdict == "verified", record.detail
    assert record.proof.fail_to_pass == ("tests/check.sh",)
    assert "checked" in (lab.record_folder / "after-1.log").read_text()
    assert record.environment["isolation"] == "podman"
    assert len(record.environment["image_id"]) >= 64
    assert lab.verify(instance, settings, again=True).digest == record.digest


def test_code_in_a_container_reaches_neither_network_nor_secrets_nor_files(
    lab: Lab, settings: TrialSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with probes(tmp_path, monkeypatch, "") as tried:
        tried[-1:] = [
            f"grep -q . /proc/{os.getpid()}/cmdline",
            "grep -qv -e lo: -e Receive -e bytes /proc/net/dev",
        ]
        record = lab.verify(lab.instance(f"{probing(tried)}{FIXED}"), settings)
    log = (lab.record_folder / "after-1.log").read_text()
    assert record.proof.verdict == "verified", record.detail
    assert "begins" in log
    assert "reached" not in log


@pytest.mark.parametrize(
    ("test", "limits", "exceeded"),
    [
        ("sleep 600", TrialSettings(seconds=3), "time"),
        ("head -c 90m /dev/zero | tail -c 80m > /dev/null",
         TrialSettings(memory=40 << 20), "memory"),
        ("for i in $(seq 60); do sleep 5 & done; wait", TrialSettings(processes=20), "processes"),
        ("for i in 1 2 3 4; do head -c 4m /dev/urandom > file$i; done; sleep 60",
         TrialSettings(disk=8 << 20), "disk"),
    ],
)  # fmt: skip
def test_code_in_a_container_is_bounded(
    lab: Lab,
    settings: TrialSettings,
    test: str,
    limits: TrialSettings,
    exceeded: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    bounded = replace(limits, isolation=settings.isolation, image=settings.image)
    record = lab.verify(lab.instance(test), bounded)
    assert (record.proof.verdict, record.detail) == ("limit-exceeded", f"{exceeded}, after-1")
    assert list(folder.iterdir()) == []


def test_programs_are_those_of_the_image(lab: Lab, settings: TrialSettings) -> None:
    recipe = lab.recipe.read_text()
    lab.recipe.write_text(f'programs = ["no-such-program", "bash"]\n{recipe}')
    record = lab.verify(lab.instance(FIXED), settings)
    assert record.proof.verdict == "no-recipe"
    assert record.detail == "no-such-program not installed"
    lab.recipe.write_text(f'programs = ["bash"]\nreadable = ["/usr"]\n{recipe}')
    assert lab.verify(lab.instance(FIXED), settings).proof.verdict == "verified"


def test_an_image_that_cannot_run_is_no_verdict(settings: TrialSettings) -> None:
    with pytest.raises(IsolationError, match="cannot run the image localhost/no-such-image"):
        find_isolation("podman", "localhost/no-such-image")
    with pytest.raises(IsolationError, match="needs an image"):
        find_isolation("podman")
