"""Secrets are found in whatever spelling a server echoes them."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from goldpan.core import secrets
from goldpan.core.errors import GoldpanError
from goldpan.core.secrets import (
    HIDDEN,
    mask,
    mask_record,
    register,
    register_environment,
    without_secrets,
)
from goldpan.core.settings.config import load_settings
from goldpan.core.terminal import Reporter, Terminal, clean

TOKEN = "ghp_Canary0123456789ABCDEFabcdef"
ODD = 'pa/ss+"wö<rd>&=\\7'


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())


def spellings(secret: str) -> Iterator[str]:
    data = secret.encode()
    yield secret
    yield from (quote(secret), quote(secret, safe=""), quote(secret, safe="").lower())
    yield "".join(f"%{byte:02x}" for byte in data)
    yield from (json.dumps(secret)[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/"))
    yield from (html.escape(secret), html.escape(secret, quote=False), data.hex())
    for user in ("", "x", "me", "x-access-token", "Ünï"):
        basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
        yield from (basic, base64.urlsafe_b64encode(f"{user}:{secret}\n".encode()).decode())


@pytest.mark.parametrize("secret", [TOKEN, ODD, "8letters"])
def test_every_spelling_is_found(secret: str) -> None:
    register(secret)
    for spelling in spellings(secret):
        if spelling == spelling.lower() and secret != secret.lower():
            continue  # lower-cased as a whole it opens nothing
        said = f'{{"message": "no {spelling}, sorry"}}'
        for text in (spelling, said, f"https://h/?t={spelling}&x"):
            masked = mask(text)
            assert HIDDEN in masked
            assert mask(text.encode()) == masked.encode()
            # What is left of base64 tells at most the edges.
            assert all(secret[at : at + 4] not in masked for at in range(len(secret) - 3))


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_base64_hides_it_wherever_it_stands(before: bytes, after: bytes) -> None:
    register(TOKEN)
    coded = base64.b64encode(before + TOKEN.encode() + after)
    masked = mask(coded)
    assert HIDDEN.encode() in masked
    left = masked.split(HIDDEN.encode())
    assert sum(map(len, left)) <= len(coded) - (len(TOKEN) * 8 // 6) + 3


def test_words_that_stand_in_for_secrets_are_words() -> None:
    register("any", "none", "EMPTY", "", None, "not-needed")
    assert mask("any key is not-needed, none or EMPTY") == "any key is not-needed, none or EMPTY"


def test_a_secret_within_a_longer_one_leaves_no_rest() -> None:
    register("secret01", "secret01-and-more")
    assert mask("x secret01-and-more secret01 y") == f"x {HIDDEN} {HIDDEN} y"


def test_the_environment_is_known() -> None:
    environment = {
        "GITHUB_TOKEN": "ghp_first001, ghp_second02",
        "MY_SERVICE_API_KEY": "key-of-service",
        "DB_PASSWORD": "pass-word-1",
        "HTTPS_PROXY": "http://me:pr%2Fxy-pass@proxy:3128",
        "HOME": "/home/somebody",
        "SSH_PRIVATE_KEY": "/home/somebody/.ssh/id",
    }
    register_environment(environment)
    text = "ghp_first001 ghp_second02 key-of-service pass-word-1 pr%2Fxy-pass"
    assert mask(text) == " ".join([HIDDEN] * 5)
    assert mask("pr/xy-pass") == HIDDEN
    assert mask("/home/somebody/.ssh/id") == "/home/somebody/.ssh/id"
    remaining = without_secrets(environment)
    assert remaining.keys() == {"HTTPS_PROXY", "HOME"}


def test_settings_teach_their_tokens() -> None:
    load_settings({}, {"GH_TOKEN": TOKEN})
    assert str(GoldpanError(f"It said {TOKEN}", f"Unset {TOKEN}")) == "It said ***. Unset ***."


def test_a_record_is_masked_in_both_its_parts() -> None:
    register(TOKEN)
    meta = {"request": {"url": f"https://h/?t={TOKEN}"}, "status": 200}
    masked, body = mask_record(meta, f'{{"message": "{TOKEN}"}}'.encode())
    assert masked == {"request": {"url": "https://h/?t=***"}, "status": 200}
    assert json.loads(body) == {"message": "***"}
    same = {"status": 200}
    assert mask_record(same, b"\x00\xff") == (same, b"\x00\xff")


def test_a_terminal_prints_neither_secrets_nor_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    register(TOKEN)
    monkeypatch.setenv("COLUMNS", "200")
    file = io.StringIO()
    console = Terminal(file=file)
    hostile = f"[bold]{TOKEN}[/nope]\x1b[2J\u202e:bug:"
    table = Table("[red]name", f"head {TOKEN}")
    table.add_row(hostile, Text(hostile))
    for printed in (hostile, Text(hostile, "bold"), clean("x") + Text(hostile), table):
        console.print(printed)
    output = file.getvalue()
    assert TOKEN not in output
    assert not set("\x1b\u202e") & set(output)
    assert output.count("[bold]***[/nope]⟨U+001B⟩[2J⟨U+202E⟩:bug:") == 5


def test_progress_is_printed_the_same_way() -> None:
    register(TOKEN)
    file = io.StringIO()
    live = Console(file=file, force_terminal=True, width=160, color_system=None)
    reporter = Reporter(live)
    with reporter.task(f"[b]{TOKEN}\u202e\x9b1m", 3) as task:
        reporter.note(f"a {TOKEN}\nError: forged\u202e[/b]")
        task.advance()
    output = file.getvalue()
    assert TOKEN not in output
    assert "a *** Error: forged⟨U+202E⟩[/b]" in output
    assert "[b]***⟨U+202E⟩⟨U+009B⟩1m" in output
    assert not set("\u202e\x9b") & set(output)
