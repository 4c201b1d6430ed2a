"""FAUN-Eval: issues, the pull requests that fix them, and what models make of them."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent

register(
    Part("rules", "faun-eval", "goldpan.papers.faun_eval.tables:RULES"),
    Files("profile", _HERE / "profiles"),
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(
        Part("computation", name.replace("_", "-"), f"goldpan.papers.faun_eval.tables:{name}")
        for name in ("built_datasets", "issue_solving_runs")
    ),
)
