"""Makes the rows of a repository anew as a dataset's provenance tells, to compare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.builders.build import BEFORE_FIX, VERIFIED, required_reviews
from goldpan.builders.qa import subjects_of
from goldpan.builders.recipes import find_recipe
from goldpan.builders.repository_rows import RowsRequest, read_rows, write_rows
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace
from goldpan.filters.answers import Choice
from goldpan.filters.catalogue import criteria
from goldpan.filters.profile import Profile, profile_of
from goldpan.filters.stored import read_stored_profile


def judging_profile(provenance: Mapping[str, Any], verdicts: Path) -> Profile:
    """Return the profile that stands behind stored verdicts.

    The provenance may tell of another choice of answers: the builder takes that over verdicts of
    the profile's own. Raises `UsageError` for criteria that are not known here.
    """
    chosen = profile_of(provenance["profile"])
    if told := read_stored_profile(verdicts):  # which also has what its file left to the defaults
        chosen = replace(chosen, stated=told.stated)
    answer = criteria()["answer"]
    table = read_table(verdicts, ["criterion", "settings"])
    stored = table.filter(pc.equal(table["criterion"], answer.name))["settings"].unique()
    for choice in get_args(Choice):
        settings = replace(chosen.settings[answer.name], choice=choice)
        profile = replace(chosen, settings={**chosen.settings, answer.name: settings})
        if stored.to_pylist() == [profile.digest(answer.name)]:
            return profile
    return chosen


def rebuild_row(
    workspace: Workspace,
    repo: str,
    example_id: str,
    provenance: Mapping[str, Any],
    profile: Profile,
    scratch: Path,
) -> dict[str, Any] | None:
    """Return a row as the builder makes it of a workspace, None where it makes none.

    Raises `UsageError` for a family that is not made of one repository at a time.
    """
    settings = provenance["settings"]
    recipe = find_recipe(str(provenance["family"]))
    answer = settings.get("answer")
    required = tuple(name for name in recipe.required if not (answer and name == "answer"))
    request = RowsRequest(
        workspace,
        recipe.family.name,
        profile,
        profile_of(provenance["profile"]),
        required,
        required_reviews(recipe, settings["reviews"]),
        VERIFIED in settings["reviews"],
        answer == "reviewed",
        scratch,
        subjects_of(settings["sources"]) if "sources" in settings else (),
        before_fix=settings.get("texts") == BEFORE_FIX,
    )
    for batch in read_rows([write_rows(request, repo)]):
        rows = pa.Table.from_batches([batch])
        found = rows.filter(pc.equal(rows["id"], example_id)).to_pylist()
        if found:
            return dict(found[0])
    return None
