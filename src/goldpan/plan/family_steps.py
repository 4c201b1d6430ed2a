"""Datasets that are not built of issues and pairs: issue types, code comments, unseen tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import DatasetError
from goldpan.plan.record import digests_of
from goldpan.plan.repository_steps import Setting
from goldpan.plan.sections import DatasetPlan
from goldpan.plan.unit import Outcome, Stage, Step, Unit

if TYPE_CHECKING:  # these take long to import
    from goldpan.builders.issue_type.profile import IssueTypeProfile


@dataclass(frozen=True, slots=True)
class _RepositoriesStep(Step):
    """Builds a dataset of what one stage brought of repositories."""

    unit: Unit
    setting: Setting
    section: DatasetPlan
    repos: tuple[str, ...]

    @abstractmethod
    def _stage(self) -> Stage:
        """Return the stage."""

    def _present(self) -> list[str]:
        """Return the repositories that it is built of, by the names under which they are kept."""
        repos = [
            repo
            for repo in self.repos
            if not self.section.leave_out or self.setting.is_finished(f"{self._stage()}/{repo}")
        ]
        if not repos:  # of which all of the workspace would be taken
            raise DatasetError(
                f"No repository of {self.section.name} is there",
                "See why with goldpan status --plan",
            )
        return list(map(self.setting.repository, repos))

    def _decisions(self, projects: Sequence[str]) -> dict[str, str]:
        root = self.setting.lab.path
        paths = [root / "annotations" / name / "decisions.parquet" for name in projects]
        return digests_of(root, paths)

    def _left_out(self) -> tuple[str, ...]:
        present = {repo.lower() for repo in self._present()}
        names = {repo: self.setting.repository(repo).lower() for repo in self.repos}
        return tuple(f"{repo} is left out" for repo in self.repos if names[repo] not in present)


@dataclass(frozen=True, slots=True)
class IssueTypeStep(_RepositoriesStep):
    """Builds issues with their types, as goldpan build issue-type --source mined does."""

    def settings(self) -> Mapping[str, Any]:
        """Return how it is built, with its profile."""
        written = self.section.model_fields_set
        return {
            "family": self.section.family,
            "repositories": sorted(map(str.lower, self._present())),
            "profile": self._profile().plain(),
            "split": self.section.split if "split" in written else None,
            "seed": self.section.seed,
            **self.section.issue_type.model_dump(mode="json"),
        }

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the mined tables and of people's corrections."""
        digests = self._decisions(self.section.issue_type.corrections)
        for repo in self._present():
            digests |= {
                f"{repo} {name}": digest for name, digest in self.setting.tables(repo).items()
            }
        return digests

    def run(self) -> Outcome:
        """Build it."""
        from goldpan.builders.issue_type.build import build_issue_types, make_request
        from goldpan.builders.issue_type.closings import EventSource
        from goldpan.core.engine import open_engine

        lab, options = self.setting.lab, self.section.issue_type
        request = make_request(
            EventSource(lab.layout, "mined", tuple(self._present())),
            self._profile(),
            split=self.settings()["split"],
            balance=options.balance,
            seed=self.section.seed,
            directory=lab.layout.dataset(self.section.name),
            projects=options.corrections,
        )
        with (
            lab.reporting() as reporter,
            open_engine(self.setting.engine, lab.settings.processes) as engine,
        ):
            built = build_issue_types(request, engine, reporter)
        rows = sum(written.rows for written in built.written)
        return Outcome(
            f"{rows:,} examples of {built.closings:,} closings",
            made=tuple(path for dataset in built.written for path in _files(dataset.directory)),
            lacks=self._left_out(),
            spent={"examples": rows},
        )

    def _stage(self) -> Stage:
        return "mine"

    def _profile(self) -> IssueTypeProfile:
        from goldpan.builders.issue_type.profile import load_profile

        return load_profile(self.setting.file.profile(self.section.profile))


@dataclass(frozen=True, slots=True)
class CodeCommentsStep(_RepositoriesStep):
    """Builds sentences of class comments, as goldpan build code-comments does."""

    @property
    def stays(self) -> bool:
        """Tell that what a partial clone lacks is fetched with a token."""
        return True

    def settings(self) -> Mapping[str, Any]:
        """Return how it is built."""
        return {
            "family": self.section.family,
            "repositories": sorted(map(str.lower, self._present())),
            "split": self.section.split,
            "seed": self.section.seed,
            **self.section.code_comments.model_dump(mode="json"),
        }

    def inputs(self) -> Mapping[str, str]:
        """Return the commits that are read, and the digests of people's decisions."""
        from goldpan.builders.code_comments.commit import find_commits

        options, layout = self.section.code_comments, self.setting.lab.layout
        commits = find_commits(layout, self._present(), None)
        licenses = {f"{commit.repo} license": commit.license or "" for commit in commits}
        decided = self._decisions((*options.annotations, *options.required))
        return {**decided, **licenses, **{f"{commit.repo} commit": commit.id for commit in commits}}

    def run(self) -> Outcome:
        """Build it."""
        from goldpan.builders.code_comments.build import Annotations, build_code_comments
        from goldpan.builders.code_comments.commit import find_commits
        from goldpan.builders.code_comments.files import find_languages
        from goldpan.builders.code_comments.reading import Access, Reading
        from goldpan.datasets.splits import SplitPlan

        lab, options = self.setting.lab, self.section.code_comments
        tokens, host = lab.settings.tokens, lab.settings.git_host
        with lab.reporting() as reporter:
            built = build_code_comments(
                lab.layout,
                find_commits(lab.layout, self._present(), None),
                Reading(
                    find_languages(options.languages),
                    options.lines,
                    frozenset(options.kinds),
                    lab.settings.processes,
                    options.timeout,
                ),
                Annotations(options.annotations, options.required),
                SplitPlan.parse(self.section.split, self.section.seed),
                lab.layout.dataset(self.section.name),
                reporter,
                access=Access(tokens[0] if tokens else None, host),
            )
        absent = ("files that were not there or took too long",) if built.incomplete else ()
        return Outcome(
            f"{built.written.rows:,} sentences of {built.tally.comments:,} comments",
            made=_files(built.written.directory),
            lacks=(*self._left_out(), *absent),
            spent={"examples": built.written.rows},
        )

    def _stage(self) -> Stage:
        return "clone"


@dataclass(frozen=True, slots=True)
class CrossCodeStep(Step):
    """Builds the prompts of a split of tasks, as goldpan build crosscode export and split do."""

    unit: Unit
    setting: Setting
    section: DatasetPlan

    def settings(self) -> Mapping[str, Any]:
        """Return which tasks it is made of and how."""
        assert self.section.crosscode is not None
        return {"seed": self.section.seed, **self.section.crosscode.model_dump(mode="json")}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the tasks' datasets."""
        assert self.section.crosscode is not None
        return self.setting.task_digests(self.section.crosscode.tasks)

    def run(self) -> Outcome:
        """Write the tasks' files, and the prompts of the split."""
        from goldpan.builders.crosscode.build import build_split, find_tasks
        from goldpan.builders.crosscode.export import TaskDataset, export_tasks
        from goldpan.builders.crosscode.prompt_table import CrossSettings
        from goldpan.builders.crosscode.splits import assign_tasks, find_split, load_splits
        from goldpan.datasets.prompt_methods import find_method
        from goldpan.datasets.task_data import task_directory

        section, lab, seed = self.section.crosscode, self.setting.lab, self.section.seed
        assert section is not None
        tasks = [self.setting.task(name) for name in section.tasks]
        datasets = [TaskDataset(task, task_directory(lab.layout, task)) for task in tasks]
        splits = load_splits(None)
        chosen = find_split(section.split, splits)
        settings = CrossSettings(
            find_method(section.method),
            seed,
            train_cap=section.train_cap,
            evaluation_cap=section.evaluation_cap,
        )
        directory = lab.layout.dataset(self.section.name)
        files = lab.path / "crosscode" / "plans" / self.section.name
        with lab.reporting() as reporter:
            export_tasks(lab.layout, datasets, files, reporter, seed=seed)
            read = find_tasks([files])
            assigned = assign_tasks(chosen, splits[chosen], [task.meta for task in read])
            built = build_split(lab.layout, read, assigned, settings, directory, reporter)
        sides = (built.train, built.evaluation)
        train, test = (sum(count.drawn - count.leaking for count in side) for side in sides)
        summary = f"{train:,} prompts to train on, {test:,} to evaluate on"
        return Outcome(summary, made=(*_files(directory), *_files(files)))


def _files(directory: Path) -> tuple[Path, ...]:
    return tuple(path for path in directory.rglob("*") if path.is_file())
