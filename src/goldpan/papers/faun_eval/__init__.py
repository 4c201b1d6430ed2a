"""FAUN-Eval: issues, the pull requests that fix them, and what models make of them."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent

register(
    Part("rules", "faun-eval", "goldpan.papers.faun_eval.rules:RULES"),
    Files("profile", _HERE / "profiles"),
    Files("protocol", _HERE / "protocols"),
    Part("recipe", "faun-eval", "goldpan.papers.faun_eval.tables:PAPER"),
)
