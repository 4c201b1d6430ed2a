"""`goldpan why` takes what people paste: a name with a number, or an address of GitHub."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.lineage.explain import explain

PAGE = "https://github.com/o/n"


@pytest.mark.parametrize(
    "named",
    [
        *("o/n#12", f"{PAGE}/issues/12", f"{PAGE}/issues/12/", f"{PAGE}/pull/12/files"),
        *(f"{PAGE}/issues/12#issuecomment-9", f"{PAGE}/pull/12?w=1", f"{PAGE}/discussions/12#d-1"),
    ],
)
def test_an_entry_is_named_or_pasted(named: str, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="o/n"):
        explain(WorkspaceLayout(tmp_path), named)


@pytest.mark.parametrize("named", ["o/n", "o/n/12", "o/n#12b", f"{PAGE}/issues/12b"])
def test_another_spelling_is_refused(named: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not name an issue"):
        explain(WorkspaceLayout(tmp_path), named)
