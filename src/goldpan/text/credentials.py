"""Secrets in a text: tokens, keys and passwords.

The formats of tokens come from the plugins of detect-secrets, which only report that a line has
one. So their expressions are matched here, each at a hint of its own, which gives the exact place
in linear time. `contributing/decisions.md` says why its detectors of keywords and of entropy are
not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from goldpan.text.credential_checks import (
    is_key_block,
    is_login,
    is_mixed,
    is_password,
    is_random,
    is_random_but_hex,
    is_real,
    is_token_header,
)

Span = tuple[int, int]
"""Start and end of a finding, in code points."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of secret: expressions, matched where the hint begins, and a check of the match."""

    kind: str
    hint: str
    patterns: Iterable[re.Pattern[str]]
    check: Callable[[str], bool] = is_real
    longest: int = 256
    before: int = 0  # characters from the beginning of the secret to its hint
    group: int = 0
    alone: bool = True  # nothing that could belong to the same word stands before
    exact: bool = False  # nor after
    words: tuple[str, ...] = ()  # one of them, in lower case, is in every text with the hint


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.S) for pattern in patterns)


_VALUE = r"([A-Za-z0-9+/_=.~!@#$%^&*-]{15,199}[A-Za-z0-9+/_=])(?![A-Za-z0-9(\[])"
_QUOTED_VALUE = r"[ \t]{0,3}[\"'`]?(?:base64:)?" + _VALUE
_DJANGO_VALUE = r"[ \t]{0,3}[\"']([a-z0-9!@#$%^&*(_=+)-]{50,66})[\"']"
_ASSIGNED = r"[\"'`\])]{0,2}[ \t]{0,3}(?:=>|:=|=|:)"
_SERVICE = (
    r"(?i:(?:api|access|admin|auth|app|bot|deploy|client|service|account)[ _-]?"
    r"(?:key|token|secret)|passw(?:or)?d|passphrase|credential|token|secret_key_base)"
)
_SIGNING = (
    r"(?i:(?:secret|private|signing|encryption|master|session)(?:[ _-]access)?[ _-]?key|secret)"
)
# Prefixes by which services let their tokens be found: those of gitleaks' rules and of GitHub's
# scanning for which detect-secrets has no plugin.
_PREFIXES = (
    *("ABSK", "AKCp", "AKID", "api_org_", "AQVN", "ATATT3", "ATBB", "ATCTT3", "atlasv1."),
    *("CCIPAT_", "CFPAT-", "CLOJARS_", "cmVmd", "csk-", "dapi", "dckr_oat_", "dckr_pat_"),
    *("doo_v1_", "dop_v1_", "dor_v1_", "dp.pt.", "dt0c01.", "duffel_live_", "duffel_test_", "EZAK"),
    *("EZTK", "figd_", "fio-u-", "FLWSECK", "fm1a_", "fm1r_", "fm2_", "fo1_", "glc_", "glsa_"),
    *("GOCSPX-", "gsk_", "HRKU-AA", "hvb.", "hvs.", "ico-", "IGQV", "jina_", "lin_api_"),
    *("lsv2_pt_", "lsv2_sk_", "LTAI", "napi_", "nfp_", "NRAK-", "NRII-", "NRJS-", "ntn_", "nvapi-"),
    *("ops_eyJ", "oy2", "p8e-", "pcsk_", "phx_", "PMAK-", "pnu_", "pplx-", "pscale_oauth_"),
    *("pscale_pw_", "pscale_tkn_", "pul-", "r8_", "rdme_", "rk_test_", "rubygems_", "sbp_", "sgp_"),
    *("sha256~", "shippo_live_", "shippo_test_", "shpat_", "shpca_", "shppa_", "shpss_", "sk-lf-"),
    *("sk-or-v1-", "sk.eyJ", "sk_test_", "sm_aat_", "sm_pat_", "sm_sat_", "sntrys_", "sntryu_"),
    *("sq0atp-", "sqp_", "squ_", "tfp_", "tgp_v1_", "tk-us-", "tvly-", "whsec_", "xai-", "xapp-"),
    *("xkeysib-", "xsmtpsib-", "ya29."),
)
# Keys of Firebase, Braintree, Airtable and Facebook begin with some of their own characters.
_KEYED = (
    *(r"AAAA[A-Za-z0-9_-]{7}:APA91", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$"),
    *(r"pat[A-Za-z0-9]{14}\.[0-9a-f]{44}", "EAA[CM][A-Za-z0-9]{80}"),
)
_PREFIX = "|".join((*map(re.escape, _PREFIXES), *_KEYED))
_WEBHOOK = (
    r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/|\.webhook\.office\.com/webhookb2/"
    r"|hooks\.slack\.com/(?:workflows|triggers)/|hooks\.zapier\.com/hooks/catch/[0-9]{5,9}/"
)
_ENCODED_KEY = r"LS0tLS1CRUdJTi(?:BQUklW|BSU0EgUFJJV|BFQyBQUklW|BPUEVOU1NIIFBSSV|BFTkNSWVBURUQg)"
"""The head of a private key in Base64, as in kubeconfig."""
_BEARER = r"(?i:bearer|authorization[\"']?[:=] ?[\"']?(?:token|basic)) "
# A login in an address. Whoever wrote it need not have escaped what stands in it: a password goes
# on to the last @ before the path, and may hold slashes where it looks like nothing else.
_USER = r"://[^\s:/?#\"'`<>\[\]|]{0,100}:"
_QUOTE_WITHIN = r"[\"'`](?=[\w!$%^~])"
_LOGIN_PATTERNS = (
    rf"{_USER}(?![0-9]{{1,5}}[,;&)\]}}\"'\\])((?:[^\s/?#\"'`<>]|{_QUOTE_WITHIN}){{1,200}})@",
    r"://[\w$%+~-]{0,100}:(?![./\\]|[0-9]{1,5}[/?#])(?=[^\s@]*[0-9])(?=[^\s@]*[a-z])(?=[^\s@]*[A-Z])"
    rf"((?:[^\s@\"'`<>]|{_QUOTE_WITHIN}){{1,200}})@(?=[\w\[])",
)
_SERVERS = ("postgres", "mysql", "mariadb", "mssql", "mongodb", "redis", "amqp", "ldap", "smtp")
_SERVER = rf"(?i:{'|'.join(_SERVERS)})[A-Za-z0-9+]{{0,20}}" + _USER + r"[^\s/?#]"
"""The beginning of an address in whose path nobody writes an @."""
_COMMAND = r"curl(?:[^\n\\]|\\.){0,400}?[\s\"'](?:-[A-Za-z#]{0,9}[uU]|--(?:proxy-)?user)"
# What connection strings, queries, settings, commands and .netrc say without quotes.
_BARE = (
    r"(?:(?:[;&?]|--)[ \t+-]{0,4}(?i:password|passwd|pwd)[ \t]{0,3}="
    r"|(?:(?:^|\n)[ \t+-]{0,12}(?:[\w.-]{0,40}[_.-])?|:_)(?i:password|passwd|pwd)"
    r"[ \t]{0,3}[=:]"
    r"|(?:PGPASSWORD|MYSQL_PWD|SSHPASS)=|sshpass[ \t]+-p[ \t]{0,3}[\"']?"
    r"|\b(?:mysql(?:dump|admin)?|docker[ \t]+login)[^\n|;&]{0,80}?[ \t]-p[ \t]{0,3}[\"']?"
    r"|\blogin[ \t]+[^\s]{1,60}\s+password[ \t])"
)
_BARE_VALUE = r"[ \t]{0,3}((?![./~])[^\s;&\"'`<>{}()\[\],]{6,100})(?=[\s;&\"'`]|\Z)"
_SET = rf"(?:{_BARE}|(?i:passw(?:or)?d|passphrase|pwd){_ASSIGNED})"
_SHORT_VALUE = r"[ \t]{0,3}[\"']([^\s\"'`<>{}()\[\],;]{6,100})[\"']"
_NAME = r"[^\s:\"'/]{0,100}"
_ENCODED = r"[A-Za-z0-9+/_-]{8,600}={0,2}"
_ENCODED_LOGIN = (
    r"(?:(?i:\bbasic)[ \t]+[A-Za-z0-9+/_-]+[0-9A-Z+/=]"
    r"|_auth[ \t]{0,3}=[ \t]{0,3}[\"']?|\"auth\"[ \t]{0,3}:[ \t]{0,3}\")[A-Za-z0-9+/_=-]{6}"
)
_KEY_BLOCK = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_PUTTY = r"Private-Lines: [0-9]{1,4}"
_MAILGUN = r"\b(?:key-[0-9a-f]{32}|[0-9a-f]{32}(?:-[0-9a-f]{8}){2})"
_FORMATS = (
    _Format("aws-key", "A3T|ABIA|ACCA|AKIA|ASIA", AWSKeyDetector.denylist[:1], exact=True),
    _Format("azure-key", "AccountKey=", AzureStorageKeyDetector.denylist, alone=False),
    _Format(
        "azure-key",
        "[?&]sig=",
        _patterns(r"[?&]sig=((?:[A-Za-z0-9+/]|%2[Bb]|%2[Ff]){42,80}(?:=|%3[Dd]))"),
        group=1,
        alone=False,
    ),
    _Format(
        "discord-token",
        r"\b[MNO][a-zA-Z0-9_-]{23,25}\.[a-zA-Z0-9_-]{6}\.",
        DiscordBotTokenDetector.denylist,
    ),
    _Format("github-token", "gh[pousr]_", GitHubTokenDetector.denylist, alone=False),
    _Format(
        "github-token", "github_pat_", _patterns("github_pat_[A-Za-z0-9_]{36,255}"), alone=False
    ),
    _Format(
        "gitlab-token",
        "gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941",
        GitLabTokenDetector.denylist,
        longest=1100,
    ),
    _Format("jwt", "eyJ", JwtTokenDetector.denylist, is_token_header, longest=2048),
    _Format("mailchimp-key", "-us[0-9]", MailchimpDetector.denylist, before=32, exact=True),
    _Format("npm-token", "npm_", _patterns("npm_[A-Za-z0-9]{36}"), exact=True),
    _Format("npm-token", "_authToken=", _patterns(r"_authToken=([A-Za-z0-9+/=_-]{30,})"), group=1),
    _Format("openai-key", "sk-", OpenAIDetector.denylist),
    _Format("openai-key", "sk-", _patterns("sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}")),
    _Format("openai-key", "sk-", _patterns("sk-[0-9a-f]{32}"), is_random, exact=True),
    _Format("anthropic-key", "sk-ant-", _patterns("sk-ant-[A-Za-z0-9_-]{32,}")),
    _Format("pypi-token", "pypi-AgE", PypiTokenDetector.denylist, longest=1024),
    _Format("sendgrid-key", r"SG\.", SendGridDetector.denylist),
    _Format("slack-token", "[xX][oO][xX][a-zA-Z]-", SlackDetector.denylist),
    _Format("slack-token", r"hooks\.slack\.com", SlackDetector.denylist, before=len("https://")),
    _Format("square-key", "sq0csp-", SquareOAuthDetector.denylist),
    _Format("square-key", "EAAA", _patterns("EAAA[A-Za-z0-9_-]{60}"), is_random, exact=True),
    _Format("mailgun-key", _MAILGUN, _patterns(_MAILGUN), is_random, exact=True),
    _Format("stripe-key", "[rs]k_live_", StripeDetector.denylist),
    _Format(
        "telegram-token",
        r"\b[0-9]{8,10}:[0-9A-Za-z_-]{35}",
        TelegramBotTokenDetector.denylist,
        exact=True,
    ),
    _Format(
        "telegram-token",
        "/bot[0-9]{8,10}:",
        _patterns(r"/bot([0-9]{8,10}:[0-9A-Za-z_-]{35})"),
        group=1,
        alone=False,
    ),
    _Format("twilio-key", r"\b(?:AC|SK)[a-z0-9]{32}", TwilioKeyDetector.denylist, exact=True),
    _Format(
        "service-token",
        _PREFIX,
        _patterns(rf"(?:{_PREFIX})[A-Za-z0-9_.=-]{{20,}}"),
        is_random,
        words=(*map(str.lower, _PREFIXES), "apa91", "access_token$", "airtable", "eaac", "eaam"),
    ),
    _Format(
        "service-token",
        "AGE-SECRET-KEY-1",
        _patterns("AGE-SECRET-KEY-(1[0-9A-Z]{58})"),
        group=1,
        words=("age-secret",),
    ),
    _Format(
        "webhook",
        _WEBHOOK,
        _patterns(rf"(?:{_WEBHOOK})([A-Za-z0-9_/@-]{{6,250}})"),
        group=1,
        alone=False,
        words=("hook",),
    ),
    _Format("google-key", "AIza", _patterns("AIza[A-Za-z0-9_-]{35}"), exact=True),
    _Format("huggingface-token", "hf_", _patterns("hf_[A-Za-z0-9]{34}"), exact=True),
    _Format(
        "private-key",
        _ENCODED_KEY,
        _patterns(_ENCODED_KEY + "[A-Za-z0-9+/=]{40,}"),
        longest=16_200,
        alone=False,
    ),
    _Format(
        "private-key",
        f"{_KEY_BLOCK}|{_PUTTY}",
        _patterns(
            _KEY_BLOCK + r"(?:[^-]|-(?!--)){40,16000}-----END [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z -]*",
            _KEY_BLOCK + r"(?:(?:\s|\\[nr]|>)*[A-Za-z0-9+/=]{16,80}+)+",
            _PUTTY + r"(?:\s{1,4}[A-Za-z0-9+/]{1,64}={0,2}(?![\w:-]))+",
        ),
        is_key_block,
        longest=16_200,
        alone=False,
    ),
    _Format(
        "url-password",
        r"://[^\s:/?#]*:[0-9]*[^\s0-9/?#]",
        _patterns(*_LOGIN_PATTERNS),
        is_password,
        longest=420,
        group=1,
        alone=False,
    ),
    _Format(
        "url-password",
        _SERVER,
        _patterns(
            rf"[A-Za-z0-9+]{{4,30}}{_USER}(?![0-9]{{1,5}}[/?#])"
            rf"((?:(?!://)[^\s\"'`<>]|{_QUOTE_WITHIN}){{1,200}})@(?=[\w\[])"
        ),
        is_password,
        longest=420,
        group=1,
        alone=False,
        words=_SERVERS,
    ),
    _Format(
        "url-password",
        "https?://[A-Za-z0-9_-]{20,200}[:@]",
        _patterns("https?://([A-Za-z0-9_-]{20,200})(?::[A-Za-z0-9_-]{0,20})?@"),
        group=1,
        alone=False,
    ),
    _Format(
        "password",
        "curl[^\\n]",
        _patterns(
            *(_COMMAND + rf"[ \t=,]{{0,4}}{mark}{_NAME}:([^\n{mark}]{{1,200}})" for mark in "\"'"),
            _COMMAND + rf"[ \t\"',=\\]{{0,4}}{_NAME}:[\"']?([^\s\"'`]{{1,200}})",
        ),
        is_password,
        longest=800,
        group=1,
        alone=False,
    ),
    _Format(
        "password",
        _SET,
        _patterns(_BARE + _BARE_VALUE, _SET + _SHORT_VALUE),
        is_mixed,
        longest=300,
        group=1,
        alone=False,
        words=("passw", "passphrase", "pwd", "sshpass", "mysql", "docker"),
    ),
    _Format(
        "password",
        _ENCODED_LOGIN,
        _patterns(
            rf"(?i:basic)[ \t]+({_ENCODED})", rf"(?:_auth|\"auth\")[ \t=:\"']{{1,8}}({_ENCODED})"
        ),
        is_login,
        longest=700,
        group=1,
        alone=False,
        words=("basic", "auth"),
    ),
    _Format(
        "assigned",
        _SERVICE + _ASSIGNED,
        _patterns(_SERVICE + _ASSIGNED + _QUOTED_VALUE),
        is_random,
        longest=300,
        group=1,
        alone=False,
        words=("key", "token", "secret", "passw", "passphrase", "credential"),
    ),
    _Format(
        "assigned",
        _SIGNING + _ASSIGNED,
        _patterns(_SIGNING + _ASSIGNED + _QUOTED_VALUE, _SIGNING + _ASSIGNED + _DJANGO_VALUE),
        is_random_but_hex,
        longest=300,
        group=1,
        alone=False,
        words=("secret", "key"),
    ),
    _Format(
        "assigned",
        _BEARER,
        _patterns(_BEARER + " {0,3}" + _VALUE),
        is_random,
        longest=300,
        group=1,
        words=("bearer", "authorization"),
    ),
)
_HINTS = tuple((form, re.compile(form.hint, re.A)) for form in _FORMATS)
_WORD = re.compile(r"[A-Za-z0-9_-]")
_WORD_TAIL = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN_TAIL = re.compile(r"[A-Za-z0-9_.=-]+")
SECRET_HINT = "|".join(form.hint for form in _FORMATS)
"""Expression, for `re` and RE2, that matches every text in which `find_secrets` finds something."""


def find_secrets(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the kind and span of each secret in a text, format by format; they may overlap."""
    lower = text.lower()
    for form, hint in _HINTS:
        if form.words and not any(word in lower for word in form.words):
            continue
        last_end = 0
        for anchor in hint.finditer(text):
            start = anchor.start() - form.before
            if start < last_end or (form.alone and _WORD.match(text, max(0, start - 1), start)):
                continue
            if span := _match(form, text, start):
                yield form.kind, span
                last_end = span[1]


def _match(form: _Format, text: str, start: int) -> Span | None:
    for pattern in form.patterns:
        match = pattern.match(text, start, start + form.longest)
        if not match or not form.check(match[form.group]):
            continue
        end = match.end(form.group)
        tail = (_TOKEN_TAIL if form.kind == "jwt" else _WORD_TAIL).match(text, end)
        if tail and form.group == 0:
            if form.exact:
                continue
            end = tail.end()
        return match.start(form.group), end
    return None
