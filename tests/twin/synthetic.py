"""A small made-up repository, `prospector/sluice`, that holds every edge case at least once."""

from __future__ import annotations

from . import stories
from .editing import Editor
from .mentions import link
from .store import World
from .tracker import tracker
from .world import made_up_repository

_START = "2023-01-02T09:00:00Z"


def synthetic_world() -> World:
    """Return the history of a library that sieves records, always the same."""
    return _world(ordinary=False)


def demo_world() -> World:
    """Return the same with an ordinary tracker before the entries that have much of everything."""
    return _world(ordinary=True)


def _world(*, ordinary: bool) -> World:
    sluice = made_up_repository(
        "sluice",
        61_000_001,
        description="Sieve streams of records with little memory",
        stars=314,
        forks=15,
    )
    pan = made_up_repository(
        "pan", 61_000_002, description="Where sluice is used", license="Apache-2.0"
    )
    world = World(sluice, pan)
    editor = Editor(world, start=_START)
    outside = Editor(world, "prospector/pan", start="2023-09-01T08:00:00Z", step=60)
    stories.keywords(editor)
    stories.almost_keywords(editor)
    stories.links(editor, outside)
    stories.people(editor)
    stories.texts(editor)
    stories.closings(editor)
    if ordinary:
        tracker(Editor(world, step=7 * 3600))
        editor = Editor(world)
    stories.sizes(editor, outside)
    stories.history(Editor(world))
    link(world)
    return world
