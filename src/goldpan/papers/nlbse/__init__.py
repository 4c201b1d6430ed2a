"""The NLBSE tool competitions on issue reports and code comments (2022 to 2025)."""

from pathlib import Path

from goldpan.plugins import Builder, Files, Part, register

_HERE = Path(__file__).parent
_COMPUTATIONS = ("by_repository", "comment_competition", "comment_forests", "issue_competition")

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
        Part("importer", name, f"goldpan.datasets.imports.{name}:read")
        for name in ("nlbse23_comments", "nlbse25_comments")
    ),
    *(
        Part(
            "computation",
            name.replace("_", "-"),
            f"goldpan.reproduce.computations.{name}:compute",
        )
        for name in _COMPUTATIONS
    ),
    Builder(
        "issue-type",
        "goldpan.operations.building:Build.issue_type",
        "--profile nlbse23",
        reads="mined",
        finders={
            "profile": "goldpan.builders.issue_type.profile:load_profile",
            "balance": "goldpan.builders.issue_type.balance:Balance.parse",
        },
        fixed={"source": "mined"},  # a plan mines repositories, not GH Archive
        settings="goldpan.builders.issue_type.profile:profile_settings",
    ),
    Builder(
        "code-comments",
        "goldpan.operations.building:Build.code_comments",
        "--repo numpy/numpy --language python",
        reads="cloned",
        finders={"language": "goldpan.builders.code_comments.files:find_language"},
        fetches=True,
    ),
)
