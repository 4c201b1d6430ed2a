"""Keeps discussions whose answer was accepted and still stands."""

from __future__ import annotations

from goldpan.filters.criterion import Criterion, NoSettings, query_judge

_QUERY = """
SELECT issue, reason IS NULL AS keep, reason,
       CASE WHEN answer_id IS NOT NULL THEN 'comment ' || answer_id || ': ' ELSE '' END ||
       CASE WHEN reason = 'answer-minimized'
              THEN 'minimized' || coalesce(' as ' || minimized_reason, '')
            WHEN answer_chosen_at IS NOT NULL
              THEN 'accepted by ' || coalesce(answer_chosen_by, 'a deleted account')
            ELSE 'category ' || coalesce(category, 'unknown') END AS evidence
FROM (
  SELECT i.number AS issue, d.answer_id, d.answer_chosen_at, d.answer_chosen_by, d.category,
         e.minimized_reason,
         CASE WHEN d.number IS NULL THEN 'not-mined'
              WHEN d.answer_id IS NULL AND (d.answer_chosen_at IS NOT NULL OR d.is_answered)
                THEN 'answer-deleted'
              WHEN d.answer_id IS NULL AND NOT d.is_answerable THEN 'category-without-answers'
              WHEN d.answer_id IS NULL THEN 'not-accepted'
              WHEN c.comment_id IS NULL THEN 'answer-not-mined'
              WHEN e.deleted_at IS NOT NULL THEN 'answer-deleted'
              WHEN e.minimized THEN 'answer-minimized'
              WHEN t.robot THEN 'answer-by-bot'
              WHEN coalesce(trim(c.body), '') = '' THEN 'answer-empty' END AS reason
  FROM issues i
  LEFT JOIN discussions d USING (number)
  LEFT JOIN comments c ON c.number = i.number AND c.kind = 'discussion_comment'
                      AND c.comment_id = d.answer_id
  LEFT JOIN discussion_comments e ON e.number = i.number AND e.comment_id = d.answer_id
  LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND t.comment_id = d.answer_id
)
"""


CRITERION = Criterion(
    name="accepted",
    subject="discussion",
    definition="Keeps discussions whose accepted answer is there, open to readers and a person's.",
    source="Goldpan: who asks or maintains says which reply answers, at no cost of reading",
    settings=NoSettings,
    judge=query_judge(_QUERY),
    uses=("bots",),
)
