"""Plans in tests that go as far as the Hub: the local GitHub, the local Hub, and the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.hub import Hub
from tests.places import ROOT
from tests.planning import environment
from tests.program import MAIN, Done, Running, start
from tests.twin import Twin, World

EXAMPLES = ROOT / "examples"
TOKEN = "hf_" + "T" * 30
_WITHOUT_XET = """
import warnings
from huggingface_hub import constants
# The Hub's client uploads in a way that its own HTTP client advises against.
warnings.filterwarnings("ignore", "Use 'content=", DeprecationWarning)
constants.HF_HUB_DISABLE_XET = True
"""


class Place(NamedTuple):
    """Where a plan is run that publishes."""

    folder: Path
    twin: Twin
    hub: Hub

    def start(self, *words: str, **variables: str) -> AbstractContextManager[Running]:
        """Start the program there, `given` more of the environment."""
        more = {
            **variables,
            "HF_ENDPOINT": self.hub.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(self.folder / "home"),
        }
        return start(
            *words,
            folder=self.folder,
            environment=environment(self.twin, **more),
            program=_WITHOUT_XET + MAIN,
        )

    def run(self, *words: str, **variables: str) -> Done:
        """Run the program there, `given` more of the environment."""
        with self.start(*words, **variables) as running:
            return running.wait()

    def killed(self, *words: str, after: int) -> Done:
        """Run the program there, and kill it when it has sent so many requests to GitHub."""
        with self.start(*words) as running:
            running.until(lambda: self.twin.count >= after)
            running.kill()
            return running.wait()

    def plan(self, name: str) -> None:
        """Copy an example, whose repositories are now those of the local GitHub."""
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        text = re.sub(r"listed = \[[^]]*\]", "listed = []", text)
        text = re.sub(r"min-stars = \d+", "min-stars = 300", text)
        if "[clone]" not in text:
            text = text.replace("[pair]", '[clone]\nsource = "{name}.git"\n\n[pair]')
        (self.folder / name).write_text(text, encoding="utf-8")


@contextmanager
def local_place(folder: Path, world: World) -> Iterator[Place]:
    """Serve a world and a Hub on which `your-name` may write."""
    with Twin(world) as twin, Hub(folder / "hub", {TOKEN: {"your-name"}}) as hub:
        yield Place(folder, twin, hub)
