"""Keeps issues without links that leave GitHub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from goldpan.filters.criterion import Criterion
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class ExternalCheckSettings:
    """The links that count, and GitHub's hosts."""

    hosts: tuple[str, ...] = ("github.com", "githubusercontent.com", "githubassets.com")
    """GitHub's own hosts, each with its subdomains; add that of a GitHub Enterprise Server.
    Pages on `github.io` and short links on `git.io` are other people's."""
    media: Literal["internal", "external", "ignored"] = "internal"
    """Treatment of images and videos on these hosts: internal or external links, or ignored."""
    code: bool = True
    """True where links in code count: in fences, in backticks, in `pre` and `code` elements."""
    ignored_hosts: tuple[str, ...] = ()
    """Hosts, each with its subdomains, that are no links at all, such as example.com."""
    required: bool = False
    """True where an issue must have an internal link."""
    bots: bool = True
    """True where links in bots' texts count; the paper removes bots only after this check."""


# An address with a scheme that GitHub links, one that begins with "www.", or one without a scheme
# where Markdown or HTML expects an address. Hosts without a dot and those of private networks show
# no page to others.
_LINK = (
    r"(?i)(?:(?:https?|ftp)://|(?:\]\(<?|\]:\s*<?|(?:href|src)\s*=\s*[\"']?)//|\bwww\.)"
    r"[^\s<>\"'`()\[\]{}|\\]+"
)
_HOST = r"^(?:[^/]*[^/a-z0-9.]//)?(?:[^/?#]*@)?([^/?#:,;!*~]+)"
_PRIVATE = r"^(?:0\.0\.0\.0|(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2[0-9]|3[01]))\.[0-9.]+)$"
_COMMENT = r"(?s)<!--.*?(?:-->|\z)"
_CODE = (
    r"(?ims)^[ \t>*+-]*```.*?(?:^[ \t>]*```|\z)|^[ \t>*+-]*~~~.*?(?:^[ \t>]*~~~|\z)"
    r"|<pre\b.*?(?:</pre>|\z)|<code\b.*?(?:</code>|\z)|`[^`\n]*`"
)
_MEDIA = (
    r"^[^/]*//(?:[a-z-]*images|camo|cloud|avatars[0-9]*)\.githubusercontent\.com/"
    r"|^[^/]*//[^/]+/(?:user-attachments|[^/]+/[^/]+)/assets/"
    r"|^[^?#]*\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp4|mov|webm)(?:[?#]|$)"
)

_QUERY = r"""
WITH spoken AS (
  SELECT number, regexp_replace(text, $comment, ' ', 'g') AS text
  FROM texts
  WHERE ($bots OR NOT robot) AND (contains(text, '//') OR contains(text, 'www.'))
), links AS (
  SELECT DISTINCT number, lower(unnest(regexp_extract_all(
    CASE WHEN $code THEN text ELSE regexp_replace(text, $code_pattern, ' ', 'g') END,
    $link))) AS link
  FROM spoken
), hosts AS (
  SELECT number, link, rtrim(regexp_extract(link, $host, 1), '._') AS host FROM links
), kinds AS (
  SELECT number, link,
         CASE WHEN NOT regexp_matches(host, $github) THEN 'external'
              WHEN $media = 'internal' OR NOT regexp_matches(link, $media_pattern) THEN 'internal'
              WHEN $media = 'external' THEN 'media'
         END AS kind
  FROM hosts
  WHERE contains(host, '.') AND NOT regexp_matches(host, $private)
    AND NOT regexp_matches(host, $ignored)
), counts AS (
  SELECT number, count(*) FILTER (kind = 'external') AS external,
         count(*) FILTER (kind = 'media') AS media,
         count(*) FILTER (kind = 'internal') AS internal,
         min(link) FILTER (kind IN ('external', 'media')) AS example
  FROM kinds GROUP BY number
)
SELECT i.number AS issue, reason IS NULL AS keep, reason,
       coalesce(external + media, 0) AS value, left(example, 200) AS evidence
FROM issues i LEFT JOIN counts USING (number), LATERAL (
  SELECT CASE WHEN external > 0 THEN 'external-link' WHEN media > 0 THEN 'external-media'
              WHEN $required AND coalesce(internal, 0) = 0 THEN 'no-internal-link' END AS reason
)
"""


def _judge(view: RepoView, settings: ExternalCheckSettings) -> pa.Table:
    return view.sql(
        _QUERY,
        comment=_COMMENT,
        code=settings.code,
        code_pattern=_CODE,
        link=_LINK,
        host=_HOST,
        private=_PRIVATE,
        github=_any_host(settings.hosts),
        ignored=_any_host(settings.ignored_hosts),
        media=settings.media,
        media_pattern=_MEDIA,
        required=settings.required,
        bots=settings.bots,
    )


def _any_host(hosts: tuple[str, ...]) -> str:
    """Return an expression for these hosts and their subdomains; CJK text may stand behind."""
    names = "|".join(re.escape(host.lower()) for host in hosts)
    return rf"(?:^|\.)(?:{names})(?:[^a-z0-9._-]|$)" if names else "^$"


EXTERNAL_CHECK = Criterion(
    name="external-check",
    subject="issue",
    definition="Keeps issues whose links all lead to GitHub's own hosts.",
    source="FAUN-Eval, section 3.3.1, External Check",
    settings=ExternalCheckSettings,
    judge=_judge,
    uses=("bots",),
)
