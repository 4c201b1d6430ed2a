"""ECSER: the steps by which classifiers in software engineering should be evaluated."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent

register(
    Files("recipe", _HERE / "recipes"),
    Part("computation", "ecser-steps", "goldpan.reproduce.computations.ecser_steps:compute"),
    Part(
        "computation", "requirement-sets", "goldpan.reproduce.computations.requirement_sets:compute"
    ),
)
