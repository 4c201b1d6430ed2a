"""Compares models by their scores: `compare` is where most callers start."""

from __future__ import annotations

from typing import Literal

from goldpan.evaluation.statistics.bayes import SAMPLES
from goldpan.evaluation.statistics.calibrated import ROPE, new_tasks_by_scores
from goldpan.evaluation.statistics.comparison import Approach, Comparison
from goldpan.evaluation.statistics.decide import Choice, decide_bayesian, decide_frequentist
from goldpan.evaluation.statistics.errors import check_settings
from goldpan.evaluation.statistics.few_tasks import FEWEST_TASKS, decide_few
from goldpan.evaluation.statistics.omnibus import check_assumptions
from goldpan.evaluation.statistics.ranking import EffectSize, arrange
from goldpan.evaluation.statistics.scores import ScoreMatrix


def compare(
    scores: ScoreMatrix,
    *,
    alpha: float = 0.05,
    rope: float = 0.1,
    approach: Approach = "bayesian",
    seed: int = 0,
    rope_kind: Literal["effect", "absolute"] = "effect",
    samples: int = SAMPLES,
    choice: Choice = "auto",
    effect_size: EffectSize | None = None,
) -> Comparison:
    """Rank models and decide each pair; the same scores and seed give the same result.

    `calibrated` answers whether differences hold on new tasks; answers to test rows say more
    (`calibrated.answer_questions`). Over five tasks or more, `bayesian` decides by the Bayesian
    signed-rank test with a ROPE, and `frequentist` by the test that the data allow or that
    `choice` demands. Over fewer, these leave pairs untested, and the test says why. Raises
    `StatisticsError` for settings out of range and where scipy is missing.
    """
    check_settings(alpha, rope, samples)
    if approach == "calibrated":
        width = rope if rope_kind == "absolute" else ROPE
        return arrange(scores, new_tasks_by_scores(scores, alpha=alpha, rope=width, seed=seed))
    values = scores.means()
    if len(scores.tasks) < FEWEST_TASKS:
        return arrange(scores, decide_few(scores, alpha=alpha, approach=approach))
    checked = check_assumptions(values, alpha)
    if approach == "bayesian":
        verdicts = decide_bayesian(
            values,
            normal=checked.normal,
            alpha=alpha,
            rope=rope,
            rope_kind=rope_kind,
            samples=samples,
            seed=seed,
        )
    else:
        verdicts = decide_frequentist(values, checked, alpha=alpha, choice=choice)
    return arrange(scores, verdicts, checked, effect_size)
