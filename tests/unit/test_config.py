"""Settings: what overrides what, whose tokens, and names that can be no path out of raw/."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from goldpan.core.errors import UsageError
from goldpan.core.settings.config import DEFAULT_WORKSPACE, Settings, load_settings, repository_name
from goldpan.core.storage.workspace import WorkspaceLayout

FIRST, SECOND = "ghp_alpha0001", "ghp_beta0002"
GH = """\
#!/bin/sh
[ "$1 $2 $3" = "auth token --hostname" ] || exit 9
[ "$4" = "$KNOWN_HOST" ] || exit 1
echo "$KNOWN_TOKEN"
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole PATH: a `gh` of the machine must not answer."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def settings_file(root: Path, text: str) -> Path:
    (root / "goldpan.toml").write_text(text, encoding="utf-8")
    return root


def test_nothing_given() -> None:
    assert load_settings({"via": None, "workspace": None}, {}) == Settings()
    assert Settings().workspace == DEFAULT_WORKSPACE


def test_flags_override_environment_overrides_file(tmp_path: Path) -> None:
    settings_file(tmp_path, 'api_url = "https://file.example/api/v3"\nvia = "rest"\nretries = 3\n')
    environment = {"GOLDPAN_WORKSPACE": str(tmp_path)}
    from_file = load_settings({"via": None}, environment)
    assert (from_file.api_url, from_file.via) == ("https://file.example/api/v3", "rest")
    assert (from_file.retries, from_file.workspace) == (3, tmp_path)
    environment["GITHUB_API_URL"] = "https://github.example/api/v3"
    assert load_settings({}, environment).api_url == "https://github.example/api/v3"
    environment["GOLDPAN_API_URL"] = "https://own.example/api/v3"
    assert load_settings({}, environment).api_url == "https://own.example/api/v3"
    flags = {"api_url": "https://flag.example/api/v3", "via": "graphql", "workspace": tmp_path}
    settings = load_settings(flags, {**environment, "GOLDPAN_WORKSPACE": "/elsewhere"})
    assert (settings.api_url, settings.via) == (flags["api_url"], "graphql")
    assert (settings.workspace, settings.retries) == (tmp_path, 3)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-08-01", datetime(2024, 8, 1, tzinfo=UTC)),
        ("2024-08-01T12:00:00Z", datetime(2024, 8, 1, 12, tzinfo=UTC)),
        ("2024-08-01T12:00:00+02:00", datetime(2024, 8, 1, 10, tzinfo=UTC)),
    ],
)
def test_dates_without_a_zone_are_utc(tmp_path: Path, text: str, moment: datetime) -> None:
    assert load_settings({"since": text, "workspace": tmp_path}, {}).since == moment
    settings_file(tmp_path, f"since = {text}\n")
    assert load_settings({"workspace": tmp_path}, {}).since == moment


@pytest.mark.parametrize(
    ("api_url", "graphql_url", "web_host"),
    [
        ("https://api.github.com", "https://api.github.com/graphql", "github.com"),
        ("https://ghe.example/api/v3", "https://ghe.example/api/graphql", "ghe.example"),
        ("https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql", "acme.ghe.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/graphql", "127.0.0.1"),
    ],
)
def test_addresses_of_the_other_api_and_of_the_web(
    api_url: str, graphql_url: str, web_host: str
) -> None:
    settings = load_settings({"api_url": api_url}, {})
    assert (settings.graphql_url, settings.web_host) == (graphql_url, web_host)


@pytest.mark.parametrize(
    ("environment", "tokens"),
    [
        ({}, ()),
        ({"GITHUB_TOKEN": FIRST}, (FIRST,)),
        ({"GH_TOKEN": SECOND}, (SECOND,)),
        ({"GITHUB_TOKEN": FIRST, "GH_TOKEN": SECOND}, (FIRST,)),
        ({"GITHUB_TOKEN": "", "GH_TOKEN": SECOND}, (SECOND,)),
        ({"GITHUB_TOKEN": f" {FIRST} ,, {SECOND}\n,{FIRST}"}, (FIRST, SECOND)),
    ],
)
def test_tokens_are_a_pool(environment: dict[str, str], tokens: tuple[str, ...]) -> None:
    settings = load_settings({}, environment)
    assert settings.tokens == tokens
    assert not any(token in repr(settings) for token in (FIRST, SECOND))


@pytest.mark.parametrize("token", ["ghp_a ghp_b", "ghp_a\tb", "ghp_é", "a\x1b[31m"])
def test_a_token_that_could_break_a_header_is_refused_unshown(token: str) -> None:
    with pytest.raises(UsageError, match=r"space or a control character.*commas") as raised:
        load_settings({}, {"GITHUB_TOKEN": token})
    assert token not in str(raised.value)


@pytest.mark.parametrize(
    ("api_url", "host"),
    [("https://api.github.com", "github.com"), ("https://ghe.example/api/v3", "ghe.example")],
)
def test_gh_is_asked_for_the_host_of_the_api(
    programs: Path, monkeypatch: pytest.MonkeyPatch, api_url: str, host: str
) -> None:
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    monkeypatch.setenv("KNOWN_HOST", host)
    monkeypatch.setenv("KNOWN_TOKEN", FIRST)
    assert load_settings({"api_url": api_url}, {}).tokens == (FIRST,)
    assert load_settings({"api_url": "https://other.example"}, {}).tokens == ()
    name = "GH_TOKEN" if host == "github.com" else "GH_ENTERPRISE_TOKEN"
    assert load_settings({"api_url": api_url}, {name: SECOND}).tokens == (SECOND,)


OURS = {"GITHUB_TOKEN": FIRST}
ENTERPRISE = {"GITHUB_ENTERPRISE_TOKEN": SECOND}


@pytest.mark.parametrize(
    ("api_url", "environment", "tokens", "withheld"),
    [
        ("https://api.github.com", OURS | ENTERPRISE, (FIRST,), ""),
        ("https://api.acme.ghe.com", OURS | ENTERPRISE, (FIRST,), ""),
        ("https://ghe.example/api/v3", OURS | ENTERPRISE, (SECOND,), ""),
        ("https://ghe.example/api/v3", {"GH_ENTERPRISE_TOKEN": SECOND}, (SECOND,), ""),
        ("https://ghe.example/api/v3", OURS, (), "GITHUB_TOKEN is not for ghe.example: set GH_E"),
        ("https://github.com.example", OURS, (), "GITHUB_TOKEN is not for github.com.example"),
        ("https://api.github.com", ENTERPRISE, (), "GITHUB_ENTERPRISE_TOKEN is not for github.c"),
        ("http://ghe.example/api/v3", ENTERPRISE, (), "Tokens are not sent to ghe.example over"),
        ("http://api.github.com", OURS, (), "Tokens are not sent to github.com over http"),
        ("http://127.0.0.1:8080", OURS, (FIRST,), ""),
        ("http://localhost:8080", OURS | ENTERPRISE, (SECOND,), ""),
        ("http://[::1]:8080", OURS, (FIRST,), ""),
    ],
)
def test_tokens_go_where_gh_sends_them(
    api_url: str, environment: dict[str, str], tokens: tuple[str, ...], withheld: str
) -> None:
    settings = load_settings({"api_url": api_url}, environment)
    assert settings.tokens == tokens
    assert settings.withheld.startswith(withheld)
    assert bool(settings.withheld) == bool(withheld)


def test_no_command_is_asked_for_a_token_that_may_not_be_sent() -> None:
    command = {"GOLDPAN_TOKEN_COMMAND": "no-such-program"}
    assert load_settings({"api_url": "http://ghe.example/api/v3"}, command).token_command == ""


def test_a_gh_that_does_not_run_is_no_token(programs: Path) -> None:
    (programs / "gh").write_text("not a program")
    (programs / "gh").chmod(0o755)
    assert load_settings({}, {}).tokens == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\udcff", "not valid TOML"),
        ("color = 1", "goldpan.toml, line 1: the key color is unknown. It may hold api_url, via"),
        (f'github_token = "{FIRST}"', "Tokens belong in the environment variable GITHUB_TOKEN"),
        ("via = 3", "goldpan.toml, line 1: via: 3 should be 'auto', 'graphql' or"),
        ("since = 'never'", "line 1: since = 'never' is not a date. Write it as 2024-08-01"),
        ("concurrency = 'two'", 'line 1: concurrency: "two" should be a valid integer'),
        ("concurrency = 0", "concurrency: 0 should be greater than or equal to 1"),
        ("retries = 0\nvia = 3", "2 things are missing or wrong: line 1: retries: 0 should"),
    ],
)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "goldpan.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as raised:
        load_settings({"workspace": tmp_path}, {})
    assert words in str(raised.value)
    assert FIRST not in str(raised.value)


def test_a_file_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "goldpan.toml").mkdir()
    with pytest.raises(UsageError, match=r"goldpan\.toml"):
        load_settings({"workspace": tmp_path}, {})


@pytest.mark.parametrize(
    "url", ["ftp://x", "github.com", "https://", "http://[x", "http://h:99999", "http://h:x", ""]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not a web address"):
        load_settings({"api_url": url}, {})


@pytest.mark.parametrize("url", ["https://u:pw@h/api/v3", "https://u@h", "https://h?token=pw"])
def test_credentials_in_the_address_are_refused_unshown(url: str) -> None:
    with pytest.raises(UsageError, match=r"credentials or a query.*GITHUB_TOKEN") as raised:
        load_settings({"api_url": url}, {})
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "Octo/my.gem",
        " Octo/my.gem/ ",
        "Octo/my.gem.git",
        "https://github.com/Octo/my.gem",
        "https://ghe.example:8443/Octo/my.gem.git/",
        "https://www.github.com/Octo/my.gem/",
        "https://github.com/Octo/my.gem/issues/12?q=is%3Aopen#top",
        "http://ghe.example.org/Octo/my.gem/pull/7/files",
        "git@github.com:Octo/my.gem.git",
    ],
)
def test_spellings_of_a_name(text: str) -> None:
    assert repository_name(text) == "Octo/my.gem"


BAD = ["", "a", "a/", "/a", "../x", "a/..", "a/.", "./a", "a/b/c", "a b/c", "-a/b", "a/b#1"]
BAD += ["a\\b/c", "a/b\x00", "ä/b", "a/" + "b" * 101, "a/...git", "../../etc"]
BAD += ["https://github.com/numpy"]


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"does not name a repository.*OWNER/NAME"):
        repository_name(text)


@pytest.mark.parametrize("text", ["https://gitlab.com/a/b", "git@codeberg.org:a/b.git"])
def test_an_address_of_another_host_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="and Goldpan mines GitHub"):
        repository_name(text)


PIECES = st.sampled_from(
    ["a", "B", ".", "..", "/", "\\", ".git", "~", "%2e", "-", "_", "\x00", "é"]
)
NAMES = st.lists(PIECES, min_size=1, max_size=6).map("".join)
NAMES |= st.builds("{}/{}".format, st.text(max_size=5), st.text(max_size=5))
NAMES |= st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,5}/[A-Za-z0-9._-]{1,8}", fullmatch=True)


@example(text="a/b.git", form="{}.git")
@given(text=NAMES, form=st.sampled_from(["{}", "https://github.com/{}", "{}.git", "git@h.io:{}"]))
def test_no_name_leads_out_of_its_folder(text: str, form: str) -> None:
    try:
        name = repository_name(form.format(text))
    except UsageError:
        assume(False)
    root = Path("/workspace")
    for below, path in (
        ("raw", WorkspaceLayout(root).raw(name)),
        ("tables", WorkspaceLayout(root).tables(name)),
    ):
        assert path.parent.parent == root / below
        assert not {"..", ".", ""} & set(path.parts)
    assert "\x00" not in name
    assert repository_name(name) == name
    assert repository_name(f"https://github.com/{name}.git") == name
