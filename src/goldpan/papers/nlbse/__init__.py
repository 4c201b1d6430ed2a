"""The NLBSE tool competitions on issue reports and code comments (2022 to 2025)."""

import tomllib
from pathlib import Path

from goldpan.plugins import Builder, Files, Part, register

_HERE = Path(__file__).parent
_COMPUTATIONS = {
    "by-repository": "nlbse24:cells",
    "comment-competition": "nlbse23:comment_cells",
    "comment-forests": "comment_forests:compute",
    "issue-competition": "nlbse23:issue_cells",
}
_CATEGORIES = tomllib.loads((_HERE / "categories.toml").read_text("utf-8"))["tasks"]

register(
    Files("task", _HERE / "tasks"),
    *(
        Part("task", name, f"goldpan.papers.nlbse.comment_tasks:{name}")
        for language, categories in _CATEGORIES.items()
        for name in (f"nlbse23_{language}_{category}" for category in categories)
    ),
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(
        Part(
            "annotation form", f"code-comment-{name}", f"goldpan.papers.nlbse.forms:{name.upper()}"
        )
        for name in ("java", "pharo", "python")
    ),
    Part("importer", "nlbse23_comments", "goldpan.papers.nlbse.comment_files:read_2023"),
    Part("importer", "nlbse25_comments", "goldpan.papers.nlbse.comment_files:read_2025"),
    *(
        Part("computation", name, f"goldpan.papers.nlbse.{place}")
        for name, place in _COMPUTATIONS.items()
    ),
    *(
        Part("report section", name, f"goldpan.papers.nlbse.{name}:SECTION")
        for name in ("nlbse23", "nlbse24")
    ),
    Part("model", "issue-ensemble", "goldpan.papers.nlbse.issue_ensemble:MODEL"),
    Part("model", "stacked", "goldpan.papers.nlbse.stacked:MODEL"),
    Builder(
        "issue-type",
        "goldpan.papers.nlbse.issues.operation:issue_type",
        "--profile nlbse23",
        reads="mined",
        finders={
            "profile": "goldpan.papers.nlbse.issues.profile:load_profile",
            "balance": "goldpan.papers.nlbse.issues.profile:Balance.parse",
        },
        fixed={"source": "mined"},  # a plan mines repositories, not GH Archive
        settings="goldpan.papers.nlbse.issues.profile:profile_settings",
        own_task=True,
    ),
    Builder(
        "code-comments",
        "goldpan.papers.nlbse.comments.operation:code_comments",
        "--repo numpy/numpy --language python",
        reads="cloned",
        finders={"language": "goldpan.papers.nlbse.comments.reading:find_language"},
        fetches=True,
    ),
)
