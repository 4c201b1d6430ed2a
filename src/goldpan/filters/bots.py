"""Tells bots from people: by the type and name of an account, and by its texts.

GitHub marks its apps as bots, but many bots run as plain accounts, and some speak through
people's accounts. Names alone mislead: `abbott` and `robot-dreams` are people. `bots.toml` lists
known bots (FAUN-Eval, section 3.3.1, Robot Detection).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import duckdb
import pyarrow as pa

from goldpan.core.settings.file import read_toml

# "-bot", "_robot", "bot-", "-bot-", "-bot2" as words, and "...Bot" as the last word of a name in
# camel case. "robot-" is no sign: people call themselves so.
_BOT_NAME = re.compile(r"\[bot\]$|(?:^|[-_])(?:(?:ro)?bots?[0-9]*$|bot[-_])|[a-z0-9]Bot$")

# What may stand before an automatic text: greetings, mentions, emoji, emphasis, HTML comments.
_BEFORE = (
    r"(\s|<!--[^>]*-->|:[a-z0-9_+-]+:|[^\x00-\x7F]|[#*_~|-]"
    r"|@[a-z0-9_/-]+[,:!]?|(hi|hello|hey|dear)( there)?[ ,!]|[.,!])*"
)

# What varies between copies of an automatic text: mentions, references, numbers, addresses, each to
# the end of its word.
_VARIABLE = r"[@#0-9/]\S*"
_SHORTEST_REPEATED = 80
_COMPARED = 160
_SHORTEST_SERIES = 12
_DATE = r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|[^a-z]"
_START = 1000  # characters in which the start of an automatic text is looked for


@dataclass(frozen=True, slots=True)
class Bots:
    """The signs by which an account is a bot."""

    types: tuple[str, ...] = ("bot",)
    """GitHub's account types that are bots."""
    login_rule: Literal["words", "contains"] = "words"
    """words: `bot` as a word of the login. contains: the letters `bot` anywhere in it."""
    catalog: bool = True
    """True where the bots listed in `bots.toml` count."""
    logins: tuple[str, ...] = ()
    """More bots; letter case does not matter."""
    people: tuple[str, ...] = ()
    """Logins that are never bots by their name; letter case does not matter."""
    responses: bool = True
    """True where a text that begins like a known automatic response is a bot's."""
    repeated: int = 10
    """A comment of at least 80 characters under this many issues is a bot's, and so is an issue
    whose title, but for numbers and dates, its author gave this many; 0 turns this off."""


@dataclass(frozen=True, slots=True)
class Response:
    """A kind of automatic text: expressions for how it starts, and examples."""

    name: str
    starts: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The content of `bots.toml`."""

    logins: frozenset[str]
    responses: tuple[Response, ...]

    def pattern(self) -> str:
        """Return one expression, in RE2's syntax, for how automatic texts start."""
        starts = "|".join(f"({start})" for response in self.responses for start in response.starts)
        return f"(?is)^{_BEFORE}({starts})"


@cache
def catalog() -> Catalog:
    """Return the catalog of bots that ships with Goldpan."""
    return read_toml(files("goldpan.filters") / "bots.toml").read(Catalog)


def bot_sign(login: str, kind: str | None, bots: Bots) -> str | None:
    """Return the sign of a bot's account: type, login or catalog; None for people."""
    lower = login.lower()
    if kind in bots.types:
        return "type"
    if lower in {name.lower() for name in bots.people}:
        return None
    if bots.login_rule == "contains":
        if "bot" in lower or "bot" in (kind or ""):
            return "login"
    elif _BOT_NAME.search(login):
        return "login"
    if lower in {name.lower() for name in bots.logins}:
        return "catalog"
    return "catalog" if bots.catalog and lower in catalog().logins else None


_AUTOMATIC = """
CREATE TEMP TABLE robot_texts AS
WITH gists AS MATERIALIZED (
  SELECT number, kind, comment_id,
         regexp_replace(left(text, $compared), $variable, '', 'g') AS gist
  FROM all_texts
  WHERE $repeated > 0 AND source = 'comment' AND length(text) >= $shortest
), often AS (
  SELECT kind, gist FROM gists WHERE length(gist) >= $shortest
  GROUP BY kind, gist HAVING count(DISTINCT number) >= $repeated
), series AS MATERIALIZED (
  SELECT number, kind, author, regexp_replace(left(text, $compared), $date, '', 'g') AS gist
  FROM all_texts
  WHERE $repeated > 0 AND source = 'title'
), found AS (
  SELECT number, comment_id, 'repeated' AS sign FROM gists SEMI JOIN often USING (kind, gist)
  UNION ALL
  SELECT unnest(list(number)), 0, 'repeated' FROM series
  WHERE length(gist) >= $titled
  GROUP BY kind, author, gist HAVING count(DISTINCT number) >= $repeated
  UNION ALL
  SELECT number, coalesce(comment_id, 0), 'response'
  FROM all_texts
  WHERE $responses AND source <> 'title' AND regexp_matches(left(text, $start), $pattern)
)
SELECT number, comment_id, max(sign) AS sign FROM found GROUP BY ALL
"""

_SIGNS = pa.schema([(name, pa.string()) for name in ("author", "author_type", "sign")])
_PULLS = """
CREATE TEMP TABLE robot_accounts AS FROM found_accounts;
CREATE TEMP VIEW pulls AS
  SELECT e.*, a.sign IS NOT NULL AS robot, a.sign AS robot_sign
  FROM entries e LEFT JOIN robot_accounts a
    ON a.author = e.author AND a.author_type IS NOT DISTINCT FROM e.author_type
  WHERE e.kind = 'pull';
"""
_SHOWN = """
CREATE OR REPLACE TEMP VIEW texts AS
  SELECT s.* EXCLUDE (kind), coalesce(a.sign, t.sign) IS NOT NULL AS robot
  FROM all_texts s LEFT JOIN robot_accounts a
    ON a.author = s.author AND a.author_type IS NOT DISTINCT FROM s.author_type
  LEFT JOIN robot_texts t ON t.number = s.number AND t.comment_id = coalesce(s.comment_id, 0)
  WHERE s.kind = '{kind}';
CREATE OR REPLACE TEMP VIEW issues AS
  SELECT e.*, coalesce(a.sign, t.sign) IS NOT NULL AS robot, coalesce(a.sign, t.sign) AS robot_sign
  FROM entries e LEFT JOIN robot_accounts a
    ON a.author = e.author AND a.author_type IS NOT DISTINCT FROM e.author_type
  LEFT JOIN robot_texts t ON t.number = e.number AND t.comment_id = 0
  WHERE e.kind = '{kind}';
"""


def show_kind(connection: duckdb.DuckDBPyConnection, kind: Literal["issue", "discussion"]) -> None:
    """Make the views `texts` and `issues` those of a kind of entries."""
    connection.execute(_SHOWN.format(kind=kind))


def mark_bots(connection: duckdb.DuckDBPyConnection, bots: Bots) -> None:
    """Turn `all_texts` and `entries` into the views `texts`, `issues` and `pulls`, with `robot`.

    The last two have the sign of a bot as `robot_sign`: type, login, catalog, response or
    repeated. The first two show issues, and after `show_kind` what that says.
    """
    accounts = connection.execute(
        "SELECT author, author_type FROM all_texts WHERE author IS NOT NULL"
        " UNION SELECT author, author_type FROM entries WHERE author IS NOT NULL ORDER BY ALL"
    ).fetchall()
    signs = [
        {"author": login, "author_type": kind, "sign": sign}
        for login, kind in accounts
        if (sign := bot_sign(login, kind, bots)) is not None
    ]
    connection.register("found_accounts", pa.Table.from_pylist(signs, _SIGNS))
    known = {"responses": bots.responses, "pattern": catalog().pattern(), "start": _START}
    gists = {"variable": _VARIABLE, "compared": _COMPARED, "date": _DATE}
    repeats = {
        "repeated": bots.repeated,
        "shortest": _SHORTEST_REPEATED,
        "titled": _SHORTEST_SERIES,
    }
    connection.execute(_AUTOMATIC, {**known, **gists, **repeats})
    connection.execute(_PULLS)
    show_kind(connection, "issue")
    connection.unregister("found_accounts")
