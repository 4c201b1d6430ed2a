"""How annotators classify the sentences of class comments (NLBSE'23, section III)."""

from pathlib import Path

from goldpan.plugins.annotation import SENTENCE, SENTENCE_TEXT, Form

_FOLDER = Path(__file__).parent / "form_files"


def _form(language: str) -> Form:
    name = f"code-comment-{language}"
    readings = (SENTENCE, SENTENCE_TEXT)
    return Form(name, readings, "categories", language=language, file=_FOLDER / f"{name}.xml")


JAVA, PHARO, PYTHON = map(_form, ("java", "pharo", "python"))
