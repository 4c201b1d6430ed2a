"""The documentation does what it says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from docs.generate.pages import FOLDER, PAGES
from docs.generate.site import on_page_content
from goldpan.miners.pairing import RULES, SIGNALS
from tests.demo_workspace import make_demo, run_demo
from tests.mining import ONE_PATH_ONLY
from tests.pages import script
from tests.places import ROOT
from tests.program import goldpan

README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "contributing").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
OFFLINE = re.compile(r"^(make|export|pip|goldpan demo)\b")
WORDS_OF_A_PAGE = 1_500
WORDS = 26_000
WORDS_OF_README = 900


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_demo_prints_what_the_readme_shows() -> None:
    shown = {" ".join(line.split()) for line in run_demo()[1].splitlines()}
    (lines,) = (block for block in blocks("text") if "stage" in block)
    missing = {" ".join(line.split()) for line in lines.splitlines()} - shown
    assert missing <= {"verify 21 of 21 fixes proved by running their tests"}  # without isolation


def test_the_trace_prints_what_the_readme_shows(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo-workspace")
    (command,) = (line for line in README.splitlines() if line.startswith("$ goldpan trace"))
    printed = goldpan(*command.split()[2:], folder=tmp_path).out
    (lines,) = (block for block in blocks("text") if "chain" in block)
    for line in lines.splitlines():
        assert " ".join(line.split()) in " ".join(printed.split())


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo-workspace")
    environment = {"GOLDPAN_WORKSPACE": "demo-workspace", "COLUMNS": "160"}
    output = ""
    for line in "".join(blocks("console", page("tutorial.md"))).splitlines():
        if not line.startswith("$ "):
            start, _, _ = line.partition("...")
            assert " ".join(start.split()) in output, line
        elif not OFFLINE.match(line[2:]):
            words = line.split()[2:]
            done = goldpan(*words, folder=tmp_path, environment={**os.environ, **environment})
            assert done.code == 0, f"{line}\n{done.err}"
            output = " ".join(done.out.split())
    (example,) = blocks("python", page("tutorial.md"))
    assert "78 rows: id, repo" in script(example, tmp_path, **environment)


def test_examples_of_plugins_are_those_that_tests_run() -> None:
    """They stand in files that the page links, and its own commands load all plugins of these."""
    text = page("plugins.md")
    linked = set(re.findall(r"\]\(\.\./examples/plugins/([\w/]+\.py)\)", text))
    loaded = set(re.findall(r"--plugin (\S+)", "".join(blocks("console", text))))
    assert {name for name in linked if "/" not in name} == {name for name in loaded if "." in name}
    folders = {name for name in loaded if "." not in name}
    assert {name.rpartition("/")[0] for name in linked if "/" in name} == folders
    files = [f"plugins/{name}" for name in linked] + ["own_paper/toys.py"]
    texts = [(ROOT / "examples" / name).read_text("utf-8") for name in files]
    for example in blocks("python", text):
        assert any(example in text for text in texts), example


def test_the_page_on_security_names_what_the_environment_decides() -> None:
    read = "".join(
        (ROOT / "src" / "goldpan" / "core" / "settings" / name).read_text(encoding="utf-8")
        for name in ("config.py", "trust.py")
    )
    names = set(re.findall(r'"((?:GH|GITHUB|GOLDPAN)_[A-Z_]+)"', read)) - {"GOLDPAN_WORKSPACE"}
    assert {"GH_HOST", "GITHUB_TOKEN", "GOLDPAN_TRUST"} <= names
    assert sorted(name for name in names if f"`{name}`" not in page("security.md")) == []


@pytest.mark.parametrize("name", PAGES)
def test_reference_pages_are_what_the_code_says(name: str) -> None:
    """`python -m docs.generate` writes them."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_reference_page_is_generated_and_in_its_index() -> None:
    by_hand = {"index.md", "json.md", "task-files.md"}
    assert {path.name for path in FOLDER.iterdir()} == {*PAGES, *by_hand}
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text("utf-8")))
    assert linked == {*PAGES, "json.md", "task-files.md"}


def test_every_page_is_in_the_menu_once() -> None:
    docs = ROOT / "docs"
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    shown = re.findall(r": (\S+\.md)$", settings.partition("\nnav:")[2], re.M)
    assert sorted(shown) == sorted(str(path.relative_to(docs)) for path in docs.rglob("*.md"))


def test_the_site_has_the_colors_and_type_of_the_report() -> None:
    report = ROOT / "src" / "goldpan" / "report" / "templates" / "report.css"
    site = ROOT / "docs" / "stylesheets" / "report.css"
    light, dark, *_ = (dict(_VARIABLE.findall(part)) for part in _schemes(report))
    ours_light, ours_dark, *_ = (dict(_VARIABLE.findall(part)) for part in _schemes(site))
    assert ours_light.keys() == ours_dark.keys() >= {"paper", "ink", "gold", "link"}
    assert ours_light.items() <= light.items()
    assert ours_dark.items() <= dark.items()
    fonts = dict(_VARIABLE.findall(site.read_text(encoding="utf-8")))
    assert all(fonts[name] == light[name] for name in ("serif", "sans", "mono"))


_VARIABLE = re.compile(r"--([\w-]+):\s*([^;]+);")


def _schemes(css: Path) -> list[str]:
    """Return the blocks that set variables, the light ones first."""
    blocks = re.findall(r"\{([^{}]*)\}", css.read_text(encoding="utf-8"))
    return [block for block in blocks if "--paper:" in block]


def test_options_in_code_are_not_broken_at_their_hyphens() -> None:
    html = "<p><code>run --hold-out repo:each</code> a-b</p><pre><code>run --json</code></pre>"
    marked = html.replace("--hold-out", '<span class="word">--hold-out</span>')
    assert on_page_content(html) == marked


def test_pages_are_short() -> None:
    """Counted as by `wc -w`; pages that are generated are not read from end to end."""
    by_hand = [*(ROOT / "docs").glob("*.md"), FOLDER / "index.md"]
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in by_hand}
    assert max(words.values()) <= WORDS_OF_A_PAGE, words
    assert sum(words.values()) <= WORDS, sum(words.values())
    assert len(README.split()) <= WORDS_OF_README


def test_the_copy_button_of_a_console_block_copies_its_commands_alone() -> None:
    block = (
        '<div class="highlight"><pre><code><span><span class="gp">$ </span>'
        "goldpan<span> </span>mine \\\n<span>    --repo </span>A/B\n</span>"
        '<span class="go">mined &lt;1&gt;\n</span><span class="gp">$ </span>goldpan pair\n'
        "</code></pre></div>"
    )
    copied = re.search(r'data-copy="([^"]*)"', on_page_content(block))
    assert copied
    assert copied[1] == "goldpan mine \\\n    --repo A/B\ngoldpan pair"


def test_what_one_path_alone_sees_is_documented() -> None:
    text = (ROOT / "docs" / "mining.md").read_text(encoding="utf-8")
    section = text.partition("## What each path cannot see")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(\w+)\.(\w+)`", section))
    assert documented == set(ONE_PATH_ONLY)


def test_rules_and_signals_are_documented() -> None:
    text = (ROOT / "docs" / "pairing.md").read_text(encoding="utf-8")
    for name in (*RULES.names(), *SIGNALS):
        assert f"| `{name}` |" in text


def test_links_between_documents_lead_somewhere() -> None:
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", text):
            linked = path.parent / target if target else path
            assert linked.is_file(), f"{path.name}: {target}"
            if anchor and linked.suffix == ".md":
                assert anchor in anchors(linked), f"{path.name}: {target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site and GitHub make them."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_a_block_of_code_begins_with_one_word_at_most() -> None:
    """More than the language is no block to the site, which then takes what follows for code."""
    for path in TEXTS:
        odd = re.findall(r"^```\w+ .*$", path.read_text(encoding="utf-8"), re.M)
        assert not odd, f"{path.name}: {odd}"


def test_extras_are_installed_into_a_clone_without_a_copy_of_it() -> None:
    """Without -e, pip puts a copy in place of the clone, which later changes do not reach."""
    for path in TEXTS:
        if path.name != "README.md":
            assert 'pip install ".[' not in path.read_text(encoding="utf-8"), path.name
