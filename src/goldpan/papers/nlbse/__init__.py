"""The NLBSE tool competitions on issue reports and code comments (2022 to 2025)."""

import tomllib
from pathlib import Path

from goldpan.plugins import Builder, Files, Part, register

_HERE = Path(__file__).parent
_ROOM = "goldpan.papers.nlbse"
_CATEGORIES = tomllib.loads((_HERE / "categories.toml").read_text("utf-8"))["tasks"]

register(
    Files("task", _HERE / "tasks"),
    *(
        Part("task", name, f"{_ROOM}.comment_tasks:{name}")
        for language, categories in _CATEGORIES.items()
        for name in (f"nlbse23_{language}_{category}" for category in categories)
    ),
    Files("protocol", _HERE / "protocols"),
    *(Part("recipe", name, f"{_ROOM}.{name}_tables:PAPER") for name in ("nlbse23", "nlbse24")),
    *(
        Part("annotation form", f"code-comment-{name}", f"{_ROOM}.comment_build:{name.upper()}")
        for name in _CATEGORIES
    ),
    Part("importer", "nlbse23_comments", f"{_ROOM}.comment_tasks:read_2023"),
    Part("importer", "nlbse25_comments", f"{_ROOM}.comment_tasks:read_2025"),
    Builder(
        "issue-type",
        f"{_ROOM}.operations:issue_type",
        reads="mined",
        finders={
            "profile": f"{_ROOM}.issues.profile:load_profile",
            "balance": f"{_ROOM}.issues.profile:Balance.parse",
        },
        fixed={"source": "mined"},  # a plan mines repositories, not GH Archive
        settings=f"{_ROOM}.issues.profile:profile_settings",
    ),
    Builder(
        "code-comments",
        f"{_ROOM}.operations:code_comments",
        reads="cloned",
        finders={"language": f"{_ROOM}.comment_extract:find_language"},
    ),
)
