"""The README's pictures and the recorded public surface are what there is now.

`python -m tests.screenshots` and `python -m tests.snapshots` renew them.
"""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from PIL import Image

from tests.browser import Browser
from tests.screenshots import FOLDER, NAMES, SCHEMES, take, text_of
from tests.snapshots.render import FOLDER as STORED
from tests.snapshots.render import SNAPSHOTS

PICTURES = [f"{name}-{scheme}.png" for name in NAMES for scheme in SCHEMES]


@pytest.fixture(scope="module")
def taken(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    take(browser, folder)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_of_the_page_that_there_is_now(taken: Path, name: str) -> None:
    """Fonts differ between machines, so texts and widths are compared, not pixels."""
    assert text_of(FOLDER / name) == text_of(taken / name)
    with Image.open(FOLDER / name) as stored, Image.open(taken / name) as fresh:
        assert stored.width == fresh.width


def test_each_scheme_has_its_colors(taken: Path) -> None:
    for name in NAMES:
        light, dark = (_brightness(taken / f"{name}-{scheme}.png") for scheme in SCHEMES)
        assert dark < 64 < 192 < light


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small(name: str) -> None:
    assert (FOLDER / name).stat().st_size < 150_000


def _brightness(picture: Path) -> float:
    with Image.open(picture) as image:
        counts = image.convert("L").histogram()
    return sum(level * count for level, count in enumerate(counts)) / sum(counts)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_nothing_public_changed_unnoticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLDPAN_PLUGINS", raising=False)
    stored = (STORED / name).read_text(encoding="utf-8")
    change = list(
        unified_diff(
            stored.splitlines(), SNAPSHOTS[name]().splitlines(), "before", "now", lineterm=""
        )
    )
    if change:
        pytest.fail(
            f"tests/snapshots/{name} is not what there is now:\n"
            + "\n".join(change)
            + "\n\nWhere that is meant, add a line to CHANGELOG.md and run "
            "python -m tests.snapshots",
            pytrace=False,
        )
