"""ECSER: the steps by which classifiers in software engineering should be evaluated."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent

register(
    Files("recipe", _HERE / "recipes"),
    Part("computation", "ecser-steps", "goldpan.papers.ecser.tables:compute_steps"),
    Part("report section", "ecser", "goldpan.papers.ecser.steps:SECTION"),
    Part("computation", "requirement-sets", "goldpan.papers.ecser.tables:compute_sets"),
)
