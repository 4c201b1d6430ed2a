"""A folder with data files: a filter profile, a review prompt, and a form for annotators.

goldpan --plugin plain_questions filter --profile plain-questions
goldpan --plugin plain_questions review --profile plain-questions --settings review.toml
"""

from pathlib import Path

from goldpan.plugins import Files, Form, register
from goldpan.plugins.data import QUESTION_ANSWER

HERE = Path(__file__).parent

register(
    Files("profile", HERE / "profiles"),
    Files("review prompt", HERE / "prompts"),
    Form(
        "plain-question",
        readings=(QUESTION_ANSWER,),
        decides="verdict",
        keeps=frozenset({"plain"}),
        file=HERE / "form.xml",
    ),
)
