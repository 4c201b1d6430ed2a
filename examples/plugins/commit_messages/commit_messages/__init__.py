"""The purpose of commits, and how far first words tell it: a paper that is an example."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent

register(
    Files("task", _HERE / "tasks"),
    Files("protocol", _HERE / "protocols"),
    Part("recipe", "commit-messages", "commit_messages.tables:PAPER"),
    Files("fine-tuning recipe", _HERE / "finetuning"),
    Part("step order", "addresses-first", ("mask_urls", "mask_hashes", "white_space")),
    Part("importer", "commit_messages", "commit_messages.logs:read"),
    Part("model", "first-word", "commit_messages.first_word:MODEL"),
    Part("metric", "version_accuracy", "commit_messages.versions:METRIC"),
    Part("report section", "versions", "commit_messages.versions:SECTION"),
)
