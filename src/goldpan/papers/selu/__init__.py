"""SELU: seventeen tasks on the texts of software engineering that are not code."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent
_STEPS = (
    "white_space",
    "jira_to_markdown",
    "markdown_to_text",
    "mask_code",
    "mask_hashes",
    "mask_urls",
    "mask_mentions",
)
_READERS = ("requirement_verbs", "stackoverflow_ner")

register(
    Files("task", _HERE / "tasks"),
    Files("protocol", _HERE / "protocols"),
    Part("recipe", "selu", "goldpan.papers.selu.tables:PAPER"),
    Files("fine-tuning recipe", _HERE / "finetuning"),
    # The replication kit collapses white space first: Markdown then has no blocks any more.
    Part("step order", "selu-paper", _STEPS),
    *(Part("importer", name, f"goldpan.papers.selu.readers:read_{name}") for name in _READERS),
)
