"""Bits flipped in, and ends cut off, the files of a finished workspace."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from random import Random

from goldpan.demo.pipeline import REPO
from tests.chaos.commands import run
from tests.chaos.outcomes import Outcome, Tally, defect, names, tail
from tests.chaos.pictures import Picture, differing, picture_of
from tests.chaos.stages import HOME, STAGES
from tests.chaos.world import Base
from tests.demo_workspace import TASK
from tests.program import Done

FLIPPED, CUT, CHECKED = "bit flipped", "cut off", "goldpan check"
_CUTS = 0.3
_WHOLE = ("verdicts/**/*", "datasets/**/*", "tables/**/*", "runs/**/*", "*.html")
_STAGES = {stage.name: stage.command for stage in STAGES}
_STATUS, _WHY, _FUNNEL = ("status",), ("why", f"{REPO}#31"), ("funnel",)
_TRACE = ("trace", f"qa:{REPO}#5")
_MINE, _PAIR, _FILTER, _CLONE = (_STAGES[n] for n in ("mine, GraphQL", "pair", "filter", "clone"))
_EDITS, _QA, _REVIEW = (_STAGES[n] for n in ("build code-edit", "build qa", "review"))
_COMPARE = _STAGES["evaluate compare"]
_SCORE = ("evaluate", "score", "--task", TASK)
_AGAIN = _STAGES["evaluate run"]
_OTHER = ("evaluate", "run", "--task", TASK, "--model", "majority", "--seed", "7")
_MAKES_RUNS = ("verdicts/**/*", "datasets/**/*", "tables/**/*")
_SAYS_THE_SAME = (_WHY, _FUNNEL, _TRACE)
"""Commands that write nothing: what they print is compared."""

_READERS: tuple[tuple[str, str, tuple[tuple[str, ...], ...]], ...] = (
    ("raw replies", "raw/*.zst", (("normalize",), _MINE, _STATUS)),
    ("reviews", "reviews/*.zst", (_REVIEW,)),
    ("tables", "tables/*/pair*", (_FILTER, _EDITS, _CLONE)),
    ("tables", "tables/*/revisions.parquet", (_EDITS, _FILTER)),
    ("tables", "tables/*/changes.parquet", (_EDITS, _FILTER)),
    ("tables", "tables/*/*", (_PAIR, _FILTER, _QA, _WHY)),
    ("verdicts", "verdicts/duplicates.parquet", (_FILTER, _QA)),
    ("verdicts", "verdicts/*.llm.*", (_REVIEW, _WHY)),
    ("verdicts", "verdicts/*", (_QA, _FUNNEL, _REVIEW, _WHY)),
    ("datasets", f"datasets/{TASK}/*", (_OTHER, _COMPARE)),
    ("datasets", "datasets/*", (_TRACE, _STAGES["report"])),
    ("runs", "runs/*", (_COMPARE, _SCORE, _AGAIN)),
    ("history", "git/*.git/objects/pack/*", (_EDITS, _CLONE)),
    ("refs", "git/*.git/refs/*", (_EDITS, _CLONE)),
)
_UNREAD = ("*.lock", "*/lock", "*.html", "*/README.md", "*/croissant.json")


_KNOWN: dict[tuple[str, ...], _Finished] = {}


@dataclass(frozen=True, slots=True)
class _Finished:
    """What commands do in a workspace that nothing damaged."""

    said: str
    picture: Picture


def damage(times: int, base: Base, chance: Random, tally: Tally) -> None:
    """Damage a finished workspace so often, each time at one place, and read it."""
    files = [name for name in _files(base.originals / "all") if _reading(name)]
    for _ in range(times):
        _damage(base, chance.choice(files), chance, tally)


def _files(home: Path) -> list[str]:
    names = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
    return [name for name in names if not any(fnmatch(name, pattern) for pattern in _UNREAD)]


def _reading(name: str) -> tuple[str, tuple[tuple[str, ...], ...]] | None:
    for what, pattern, commands in _READERS:
        if fnmatch(name, pattern):
            return what, commands
    return None


def _damage(base: Base, name: str, chance: Random, tally: Tally) -> None:
    reading = _reading(name)
    assert reading is not None
    what, commands = reading
    path = base.home / name
    data = bytearray((base.originals / "all" / name).read_bytes())
    if not data:
        return
    how = CUT if chance.random() < _CUTS else FLIPPED
    position = chance.randrange(len(data) if how == CUT else 8 * len(data))
    if how == CUT:
        del data[position:]
        story = f"{name} cut at byte {position}"
    else:
        data[position // 8] ^= 1 << position % 8
        story = f"{name} flipped at byte {position // 8}, bit {position % 8}"
    command = chance.choice(commands)
    expected = _finished(base, command)
    base.begin("all")
    path.unlink()
    path.write_bytes(data)
    _judge_check(base, what, name, story, tally)
    done = run((*command, "--workspace", HOME), base.directory, base.apis[0])
    outcome, problem = _judge(base, name, command, done, expected)
    story = f"{story}, goldpan {' '.join(command)}"
    tally.add(what, how, outcome, f"{story}: {problem}")


def _finished(base: Base, command: tuple[str, ...]) -> _Finished:
    """Run a command in the finished workspace as it should be, once."""
    if command in _KNOWN:
        return _KNOWN[command]
    base.begin("all")
    done = run((*command, "--workspace", HOME), base.directory, base.apis[0])
    if done.code:
        raise RuntimeError(f"{command} fails undisturbed: {tail(done)}")
    _KNOWN[command] = _Finished(done.out, picture_of(base.home, _patterns(command)))
    return _KNOWN[command]


def _patterns(command: tuple[str, ...]) -> tuple[str, ...]:
    return _MAKES_RUNS if command == _OTHER else _WHOLE


def _judge(
    base: Base, name: str, command: tuple[str, ...], done: Done, expected: _Finished
) -> tuple[Outcome, str | None]:
    if problem := defect(done):
        return "forbidden", problem
    if done.code:
        mentioned = {name, Path(name).name, str(Path(name).parent), *_histories(name)}
        if not names(done, mentioned):
            return "forbidden", f"the file is not named: {tail(done)}"
        return "named", None
    made = picture_of(base.home, _patterns(command))
    if other := [path for path in differing(made, expected.picture) if path != name]:
        if all(_tells_of(base, path, name) for path in other):
            return "named", None
        return "forbidden", f"other bytes in {other}"
    if command in _SAYS_THE_SAME and done.out != expected.said:
        return "forbidden", f"it says something else: {tail(done)}"
    return "same", None


def _tells_of(base: Base, page: str, name: str) -> bool:
    """Whether a page says which file it could not show anything of."""
    return page.endswith(".html") and Path(name).name in (base.home / page).read_text("utf-8")


def _judge_check(base: Base, what: str, name: str, story: str, tally: Tally) -> None:
    done = run(("check", HOME), base.directory, base.apis[0])
    problem = defect(done)
    if not problem and done.code and not names(done, (name,)):
        problem = f"the file is not named: {tail(done)}"
    if not problem and not done.code:
        problem = "it finds nothing"
    tally.add(what, CHECKED, "forbidden" if problem else "named", f"{story}: {problem}")


def _histories(name: str) -> tuple[str, ...]:
    """Return the repository of a file of git's, as people are told of that."""
    start, dot, _ = name.partition(".git/")
    return (f"{start}.git",) if dot else ()
