"""ECSER: the steps by which classifiers in software engineering should be evaluated."""

from goldpan.plugins import Part, register

register(
    Part("recipe", "ecser", "goldpan.papers.ecser.tables:PAPER"),
    Part("report section", "ecser", "goldpan.papers.ecser.steps:SECTION"),
)
