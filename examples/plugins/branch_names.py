"""A pairing signal and rules that use it: the branch of a pull request names the issue.

goldpan --plugin branch_names.py pair --rules with-branches
"""

from goldpan.plugins import SIGNALS, Rules, Signal, register

QUERY = """
SELECT pulls.repo AS pull_repo, pulls.number AS pull, issues.number AS issue,
       pulls.head_ref AS excerpt
FROM entries pulls JOIN entries issues
  ON issues.number = TRY_CAST(regexp_extract(pulls.head_ref, '(\\d+)', 1) AS BIGINT)
WHERE pulls.kind = 'pull' AND issues.kind = 'issue'
"""

register(Signal("branch_name", QUERY), Rules("with-branches", (*SIGNALS, "branch_name")))
