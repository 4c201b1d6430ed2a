"""Where everything lies on disk, and how it gets there whole.

    WORKSPACE/
    ├── goldpan.toml             settings, optional
    ├── raw/OWNER/NAME/          every reply as it came (`core/storage/archive.py`)
    ├── tables/OWNER/NAME/       one Parquet file a table, made from raw/ and git/ alone;
    │                            pairs.RULES.parquet for each set of pairing rules
    ├── git/OWNER/NAME.git       the history of the code
    ├── verdicts/OWNER/NAME/     RULES/PROFILE.parquet; duplicates.parquet over all
    ├── reviews/                 every request to models and their answers
    ├── gharchive/               the closed issues of GH Archive, one Parquet file an hour
    ├── annotations/NAME/        a project's subjects, people's answers and decisions
    ├── label-studio/            the server of goldpan annotate serve
    ├── datasets/NAME/           finished datasets
    ├── audits/NAME/             findings on a dataset's rows, and what they were made of
    ├── tasks/                   tasks of one's own, one TOML file each
    ├── crosscode/               text-to-text tasks and their splits
    ├── prompts/                 every request to models under evaluation, and their replies
    ├── reproduce/PAPER/         a paper's datasets, runs and tables
    ├── runs/TASK/MODEL/         evaluations: predictions and what they came from
    ├── plans/NAME/              a plan: what it selected, and a record of each of its units
    └── tmp/                     unfinished work; what a killed run left, the next removes

GitHub's names ignore case, so directories are lower case.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from goldpan.core.errors import UsageError, WorkspaceError, ask
from goldpan.core.resources import named

DEFAULT_RULES = "default"
"""The pairing rules of whoever names none, whatever was paired last."""
_UNSAFE = re.compile(r"[^\w.-]+")
UNPAIRED = "unpaired"
"""In the place of rules: without pairs. It is the directory of verdicts made so, too."""


@dataclass(frozen=True, slots=True)
class WorkspaceLayout:
    """A directory that holds what Goldpan mined and made."""

    root: Path
    rules: str = DEFAULT_RULES
    """The pairing rules whose pairs and verdicts are read."""

    def by_rules(self, rules: str) -> WorkspaceLayout:
        """Return the same directory, whose pairs and verdicts are those by these rules."""
        return replace(self, rules=rules)

    def raw(self, repo: str) -> Path:
        """Return the directory of a repository's raw replies."""
        return self.root / "raw" / repo.lower()

    def tables(self, repo: str) -> Path:
        """Return the directory of a repository's tables."""
        return self.root / "tables" / repo.lower()

    def table(self, repo: str, name: str) -> Path:
        """Return the file of one table of a repository; of `pairs` the one by `rules_of`."""
        if name == "pairs":
            return self.pairs(repo, self.rules_of(repo) or self.rules)
        return self.tables(repo) / f"{name}.parquet"

    def pairs(self, repo: str, rules: str) -> Path:
        """Return the file of a repository's pairs by one set of rules."""
        return self.tables(repo) / f"pairs.{rules}.parquet"

    def paired_by(self, repo: str) -> tuple[str, ...]:
        """Return the rules by which a repository was paired, sorted."""
        files = self.tables(repo).glob("pairs.*.parquet")
        return tuple(sorted(path.stem.removeprefix("pairs.") for path in files))

    def rules_of(self, repo: str) -> str | None:
        """Return the rules whose pairs are read; None where there are no pairs at all.

        Raises `WorkspaceError` where the repository was paired by other rules alone.
        """
        rules = self.paired_by(repo)
        if self.rules in rules:
            return self.rules
        if self.rules == UNPAIRED or (self.rules == DEFAULT_RULES and not rules):
            return None
        pair = f"un goldpan pair --repo {repo} --rules {self.rules}"
        if not rules:
            raise WorkspaceError(f"{repo} was not paired by the rules {self.rules}", f"R{pair}")
        raise WorkspaceError(
            f"{repo} was not paired by the rules {self.rules}, only by {' and '.join(rules)}",
            f"Add --rules {' or --rules '.join(rules)}, or r{pair}",
        )

    def clone(self, repo: str) -> Path:
        """Return the bare clone of a repository's history."""
        return self.root / "git" / f"{repo.lower()}.git"

    def verdicts(self, repo: str, profile: str) -> Path:
        """Return the file of a repository's verdicts under one filter profile, by `rules_of`."""
        rules = self.rules_of(repo) or UNPAIRED
        return self.root / "verdicts" / repo.lower() / rules / f"{profile}.parquet"

    def dataset(self, name: str) -> Path:
        """Return the directory of a finished dataset."""
        return self.root / "datasets" / name

    def findings(self, dataset: Path) -> Path:
        """Return the table of what an audit found in the rows of a dataset or of a file."""
        name = dataset.resolve().name if dataset.is_dir() else dataset.stem
        name = _UNSAFE.sub("-", name).strip(".") or "dataset"
        return self.root / "audits" / name / "findings.parquet"

    def repositories(self, below: str = "raw") -> list[str]:
        """Return the repositories that have replies in `raw`, or `tables`, sorted."""
        content = "run-*.zst" if below == "raw" else "*.parquet"
        return sorted(
            f"{path.parent.name}/{path.name}"
            for path in (self.root / below).glob("*/*")
            if any(path.glob(content))
        )

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a directory for unfinished work that vanishes afterwards.

        Its lock goes with its process, so what a killed one left is known and removed first.
        """
        from tempfile import mkdtemp  # which help does without

        base = self.root / "tmp"
        make_directory(base)
        with _locked(base):
            _remove_abandoned(base)
            path = Path(mkdtemp(dir=base))
            descriptor = os.open(path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            yield path
        finally:
            _remove(path)
            os.close(descriptor)

    @contextmanager
    def replacing(self, directory: Path) -> Iterator[Path]:
        """Give an empty directory that takes the place of another when the block ends well.

        It lies where one rename reaches that; other unfinished work may lie beside it.
        """
        for folder in (self.root, directory.parent):
            make_directory(folder)
        if self.root.stat().st_dev != directory.parent.stat().st_dev:
            with replacing(directory) as building:
                yield building
        else:
            with self.scratch() as scratch, replacing(directory, scratch) as building:
                yield building


@contextmanager
def replacing(directory: Path, scratch: Path | None = None) -> Iterator[Path]:
    """Give an empty directory that takes the place of another when all went well.

    It lies in `scratch`, which one rename reaches, else beside the other. The two change places in
    one step, so that a process that is killed leaves the old one or the new. Where the file system
    cannot, the old one waits beside it, and is put back by the next.
    """
    if scratch is None:
        from tempfile import TemporaryDirectory

        beside = TemporaryDirectory(
            prefix=".goldpan-", dir=directory.parent, ignore_cleanup_errors=True
        )
        with beside as name, replacing(directory, Path(name)) as building:
            yield building
        return
    building, replaced = scratch / "building", directory.with_name(f".{directory.name}.replaced")
    with _locked(directory.parent):
        if replaced.exists() and not directory.exists():
            replaced.rename(directory)
        _remove(replaced)
    building.mkdir()
    yield building
    with _locked(directory.parent):
        if not directory.exists():
            building.rename(directory)
        elif not _exchanged(building, directory):
            directory.rename(replaced)
            try:
                building.rename(directory)
            except OSError:
                replaced.rename(directory)
                raise
            _remove(replaced)


_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def _exchanged(one: Path, other: Path) -> bool:
    """Let two directories change places in one step; False where the system cannot do that."""
    import ctypes  # Python has no call for it

    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    paths = _HERE, os.fsencode(one), _HERE, os.fsencode(other)
    return rename is not None and rename(*paths, _EXCHANGE) == 0


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove(directory: Path) -> None:
    import shutil  # which help does without

    shutil.rmtree(directory, ignore_errors=True)


def _remove_abandoned(base: Path) -> None:
    for path in base.iterdir():
        if path.is_symlink() or not path.is_dir():
            continue
        with suppress(FileNotFoundError):  # its owner has removed it meanwhile
            descriptor = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            except BlockingIOError:
                pass  # another process works there
            finally:
                os.close(descriptor)


def existing(workspace: WorkspaceLayout) -> WorkspaceLayout:
    """Return a workspace that is there; raises `UsageError` where there is none."""
    if not workspace.root.is_dir():
        beside = sorted(path.parent for path in workspace.root.parent.glob("*/tables"))
        remedy = "Give it with --workspace, or make it with goldpan mine --repo OWNER/NAME"
        if beside:
            remedy = f"{ask([f'--workspace {beside[0]}'])} {remedy}"
        raise UsageError(f"There is no workspace {workspace.root}", remedy)
    return workspace


def make_directory(path: Path) -> None:
    """Create a directory with its parents; raises `WorkspaceError` where that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(
            f"{path} cannot be created: {error.strerror}", "Choose another --workspace"
        ) from None


def publish(files: dict[Path, Path]) -> None:
    """Move finished files (source to target) into place, each by one rename."""
    for source, target in files.items():
        make_directory(target.parent)
        source.replace(target)


@contextmanager
def replacing_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a draft that takes the place of a file when the block ends well.

    Another writer of the same file waits meanwhile, and takes over a draft whose writer was
    killed. A link stays one, a file's mode stays as it is, and a pipe or device is written itself.
    """
    target = Path(os.path.realpath(path))
    with named(path):
        if target.exists() and not target.is_file():
            yield path
            return
        draft = target.with_name(f".{target.name}.new")
        descriptor = _claimed(draft, 0o600 if private else 0o666)
        try:
            yield draft
            if target.exists() and not private:
                os.fchmod(descriptor, target.stat().st_mode & 0o777)
            os.fsync(descriptor)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def _claimed(draft: Path, mode: int) -> int:
    """Open a draft that nobody else writes, empty; whoever wrote it may have moved it away."""
    while True:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), draft.stat()):
                os.ftruncate(descriptor, 0)
                return descriptor
        os.close(descriptor)


def write_whole(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Write a file so that it is there whole or not at all.

    What UTF-8 cannot hold of a text becomes a question mark.
    """
    with replacing_file(path, private=private) as draft:
        draft.write_bytes(
            content if isinstance(content, bytes) else content.encode(errors="replace")
        )


_ELSEWHERE: dict[Path, Path] = {}


def use_tasks(workspace: Path, directory: Path | None) -> None:
    """Read a workspace's own tasks from `directory` in this process, None from the workspace.

    Raises `UsageError` where it is no directory.
    """
    if directory is None:
        _ELSEWHERE.pop(workspace.absolute(), None)
        return
    if not directory.is_dir():
        raise UsageError(
            f"--tasks {directory} is not a directory", "Give one that holds TOML files"
        )
    _ELSEWHERE[workspace.absolute()] = directory


def tasks_directory(workspace: Path) -> Path:
    """Return where a workspace keeps tasks of one's own."""
    return _ELSEWHERE.get(workspace.absolute(), workspace / "tasks")
