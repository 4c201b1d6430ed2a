"""Fetches the files of a task from the Hugging Face Hub, at one commit, when asked to."""

from __future__ import annotations

import re
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.progress import Reporter
from goldpan.datasets.task import Task

_REVISION = re.compile(r"[0-9a-f]{40}")


def download(task: Task, revision: str | None, reporter: Reporter) -> list[Path]:
    """Fetch the files that a task names into the Hub's cache, and return where they lie.

    `revision` takes the place of the task's own; it has to be a commit, as branches and tags
    move. What is in the cache already is not fetched again. Raises `UsageError` where the task is
    not on the Hub or no commit is known, `PublishError` where the Hub does not answer well.
    """
    source = task.source
    if not source.hub:
        raise UsageError(
            f"{task.name} is not on the Hugging Face Hub, so --download cannot fetch it",
            f"Get {', '.join(source.files) or 'its files'} from {source.url} and give their paths",
        )
    commit = revision or source.revision
    if not _REVISION.fullmatch(commit):
        raise UsageError(
            f"{task.name} is not pinned to a commit of {source.hub}"
            if not commit
            else f"{commit!r} is not a commit",
            "Give --revision with the 40 digits of a commit from "
            f"https://huggingface.co/datasets/{source.hub}/commits/main",
        )
    # The Hub's client takes long to import, and most commands do without.
    from huggingface_hub import get_token

    from goldpan.datasets.hub_client import endpoint, open_hub, quiet
    from goldpan.datasets.hub_errors import HubCall, explained

    call = HubCall(source.hub, endpoint(), get_token())
    api = open_hub(call.token)
    paths = []
    with reporter.task(f"Fetching from {call.host}", len(source.files)) as progress:
        for name in source.files:
            with quiet(), explained(call, f"fetching {name}"):
                paths.append(
                    Path(
                        api.hf_hub_download(source.hub, name, repo_type="dataset", revision=commit)
                    )
                )
            progress.advance()
    return paths
