"""The NLBSE tool competitions on issue reports and code comments (2022 to 2025)."""

from pathlib import Path

from goldpan.plugins import Builder, Files, Part, register

_HERE = Path(__file__).parent
_COMPUTATIONS = (
    "by_repository",
    "comments.comment_competition",
    "comments.comment_forests",
    "issue_competition",
)

register(
    Files("task", _HERE / "tasks"),
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(
        Part(
            "annotation form", f"code-comment-{name}", f"goldpan.papers.nlbse.forms:{name.upper()}"
        )
        for name in ("java", "pharo", "python")
    ),
    *(
        Part("importer", name, f"goldpan.papers.nlbse.comments.{name}:read")
        for name in ("nlbse23_comments", "nlbse25_comments")
    ),
    *(
        Part(
            "computation",
            name.rpartition(".")[2].replace("_", "-"),
            f"goldpan.papers.nlbse.{name}:compute",
        )
        for name in _COMPUTATIONS
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
        finders={"language": "goldpan.papers.nlbse.comments.files:find_language"},
        fetches=True,
    ),
)
