"""Reviews: prompts, schemas, quotes, settings, required reviews, verdicts beside people's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.annotation.review.quotes import Shown, number_sentences, quotations
from goldpan.annotation.review.request import (
    answer_schema,
    load_prompt,
    load_review_settings,
    parse_answer,
)
from goldpan.annotation.review.stored import read_reviews, with_reviews
from goldpan.annotation.review.subjects import KINDS
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.schemas.stages import VERDICTS
from goldpan.filters.stored import read_verdicts
from goldpan.llm.parts import PromptPart, cut
from goldpan.llm.settings import Price
from tests.filtering import REPO
from tests.openai_server import OpenAIServer, answer
from tests.reviewing import QUOTE, by_number, filtered, review, rows, workspace

LOG = [f"2024-01-01 12:00:{second:02} INFO step {second}" for second in range(60)]


def test_what_fits_is_not_cut() -> None:
    parts = (PromptPart("a", "x" * 50), PromptPart("b", "y" * 50))
    assert cut(parts, 100) == parts


def test_logs_go_first() -> None:
    words = "It fails.\n" * 20
    parts = (PromptPart("a", words + "\n".join(LOG)), PromptPart("b", words))
    log, prose = cut(parts, len(parts[0].text) + len(parts[1].text) - 500)
    assert prose == parts[1]
    assert "[[ 40 lines of a log are left out ]]" in log.text
    assert log.text.startswith(words)
    assert all(line in log.text for line in (LOG[0], LOG[9], LOG[50], LOG[59]))
    assert LOG[10] not in log.text


def test_the_middle_of_the_longest_goes_next() -> None:
    lines = "".join(f"Line {number} of the text\n" for number in range(1000))
    short, long = cut((PromptPart("a", "short"), PromptPart("b", lines, "code")), 3_000)
    assert short.text == "short"
    assert long.text.startswith("Line 0 of the text\n")
    assert long.text.endswith("Line 999 of the text\n")
    head, _, tail = long.text.partition("\n[[ ")
    assert len(tail) < len(head) < 2_000
    content = set(long.text.split("\n")) - {line for line in long.text.split("\n") if "[[" in line}
    assert content <= set(lines.split("\n")), "lines are whole"


def test_short_logs_and_code_keep_their_lines() -> None:
    for text in ("\n".join(LOG[:20]), "one\n\ntwo\n```\ncode()\n```"):
        long = PromptPart("b", "x" * 9_000)
        assert cut((PromptPart("a", text), long), 5_000)[0].text == text


@given(st.lists(st.text("ab\n", max_size=400), max_size=9), st.integers(0, 2_000))
def test_the_room_is_used_and_what_is_gone_is_told(texts: list[str], most: int) -> None:
    parts = [PromptPart("a", text, "code") for text in texts]
    kept = 0
    for whole, shown in zip(texts, cut(parts, most), strict=True):
        head, _, rest = shown.text.partition("\n[[ ")
        gone, _, tail = rest.partition(" characters are left out ]]\n")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(gone or 0) + len(tail) == len(whole)
        kept += len(head) + len(tail)
    assert kept <= most or sum(map(len, texts)) <= most


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_prompt_states_its_rubric(kind: Any) -> None:
    prompt = load_prompt(kind.prompt)
    text = prompt.instructions(code="c0de")
    assert "c0de" in text
    for code, meaning in prompt.reasons.items():
        assert f"- {code}: {meaning}" in text
    assert re.fullmatch(rf"{kind.prompt}@\d+-[0-9a-f]{{12}}", prompt.label)
    assert text.replace("c0de", "") == prompt.instructions(code="")
    assert set(answer_schema(prompt.reasons)["properties"]["reasons"]["items"]["enum"]) == set(
        prompt.reasons
    )


def test_answers_are_strict() -> None:
    good = '{"evidence": ["a"], "reasons": ["x"], "verdict": "drop", "confidence": 1}'
    assert parse_answer(good, ["x"]).verdict == "drop"
    for bad, words in (
        (good.replace("1}", '1, "more": 2}'), "more"),
        (good.replace('"drop"', '"maybe"'), "verdict"),
        (good.replace('["a"]', '"a"'), "evidence"),
        (good.replace(', "confidence": 1', ""), "confidence"),
        (good.replace("1}", "NaN}"), "confidence|JSON"),
        (good.replace('"x"', '"y"'), "reasons"),
        ("", "JSON"),
        ("[" * 100_000, "JSON"),
    ):
        with pytest.raises(ValueError, match=words):
            parse_answer(bad, ["x"])


def missing(quotes: list[str], shown: Shown) -> list[str]:
    """Return the quotes that stand in no text."""
    found = zip(quotes, quotations(quotes, shown), strict=True)
    return [quote for quote, passage in found if passage is None]


def test_quotes_are_looked_for_with_white_space_aside() -> None:
    shown = Shown(("The pump\n  leaks at\tthe seam", "Tighten it"))
    assert missing(["pump leaks at the seam", "Tighten it "], shown) == []
    assert missing(["The pump leaks. ", "seam Tighten", ""], shown) == ["seam Tighten", ""]


TEXTS = (
    "The **parser** does not free `buffer_size` when [the header](https://x.y/z) is read twice.",
    "> It was introduced in 2.14; call `reset()` before you open the second file,\nor it leaks.",
    "We accept only signed tags, as the server is unable to check 12 of the unsigned ones.",
    "Call reset() before you open the second file, or it leaks in 14 of the other server's rooms.",
    "It says that the other server in the second room cannot be reached.",
)
PASSAGES = Shown(TEXTS)


@pytest.mark.parametrize(
    "quote",
    [
        "the parser DOES not free buffer_size",
        "does not free `buffer_size` when the header is read twice",
        "call reset() before you open the second file, or it leaks",
        "The parser does not free ... the header is read twice",
        "It was introduced in 2.14; […] before you open the second file",
        "as the server is unable to chekc 12 of the unsigned ones",
        "“We accept only signed tags”",
        "We accept only signed tags, as the server is una",
    ],
)
def test_quotes_are_found_as_people_would_find_them(quote: str) -> None:
    assert missing([quote], PASSAGES) == []


@pytest.mark.parametrize(
    "quote",
    [
        "the parser does free buffer_size",
        "able to check 12 of the unsigned ones",
        "as the server is unable to check 13 of the unsigned ones",
        "as the servre is unable to chekc 12 of the unsigned ones",
        "It was introduced in 2.15; call reset()",
        "We accept only signed tags, as the ser",
        "call reset() before you open the second file, or it leaks in 1",
        "the other server in the second room can",
        "The parser ... it leaks",
        "the header is read twice ... The parser does not free",
        "the parser does not free ... before you open the second file",
        "... … ...",
        "**",
    ],
)
def test_what_is_not_said_is_no_quote(quote: str) -> None:
    assert missing([quote], PASSAGES) == [quote]


def test_sentences_bear_numbers_and_code_none() -> None:
    parts = (
        PromptPart("title", "It leaks"),
        PromptPart("body", "See v1.2, e.g. here. Then\nit stops!\n\n* one\n* two 3"),
        PromptPart("change", "+ free(x);", "code"),
    )
    numbered, sentences = number_sentences(parts)
    texts = [part.text for part in numbered]
    body = "[2] See v1.2, e.g. here. [3] Then\nit stops!\n\n[4] * one\n[5] * two 3"
    assert texts == ["[1] It leaks", body, "+ free(x);"]
    shown = Shown(tuple(part.text for part in parts), sentences)
    good = ["1", "[3]", "5.", " 2 ", "[4] whatever it says", "free(x)"]
    assert missing(good, shown) == []
    assert missing(["0", "6", "[77]", "3 bolts"], shown) == ["0", "6", "[77]", "3 bolts"]
    assert quotations(["3", "it leaks"], shown) == ["Then\nit stops!", "it leaks"]
    assert missing(["1"], Shown(("It leaks",))) == ["1"]


@given(st.data())
def test_altered_quotes_are_refused(data: st.DataObject) -> None:
    """A word taken away, put in, doubled, swapped with its neighbor or replaced by another."""
    words = data.draw(st.sampled_from(TEXTS)).replace("**", "").replace("`", "").split()[1:]
    words = [word for word in words if "](" not in word]
    start = data.draw(st.integers(0, len(words) - 6))
    chosen = words[start : start + data.draw(st.integers(5, 9))]
    place = data.draw(st.integers(1, len(chosen) - 2))
    other = data.draw(st.sampled_from(["never", "because", "77", "memory", "not", "allowed"]))
    altered = {
        "less": [*chosen[:place], *chosen[place + 1 :]],
        "more": [*chosen[:place], other, *chosen[place:]],
        "other": [*chosen[:place], other, *chosen[place + 1 :]],
    }[data.draw(st.sampled_from(["less", "more", "other"]))]
    quote = " ".join(altered)
    assert missing([quote], PASSAGES) == [quote]


def test_settings_come_from_a_file_and_flags_go_before(tmp_path: Path) -> None:
    path = tmp_path / "review.toml"
    path.write_text(
        'models = ["a"]\nmax_cost = 5\ntimeout = 9\n[prices.a]\ninput = 1\noutput = 2.5\n',
        encoding="utf-8",
    )
    flags = {"timeout": 3.0, "seed": None}
    settings = load_review_settings(path, flags, {"OPENAI_API_KEY": "sk-x"})
    assert (settings.models, settings.max_cost) == (("a",), 5.0)
    assert (settings.timeout, settings.seed) == (3.0, 0)
    assert settings.prices == {"a": Price(1.0, 2.5)}
    assert settings.api_key == "sk-x"
    assert "sk-x" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("timeout = 2", "No model"),
        ('models = "a"', "models"),
        ('models = ["a", "a"]', "twice"),
        ('models = ["a"]\napi_key = "x"', "OPENAI_API_KEY"),
        ('models = ["a"]\nmodel = "x"', "line 2: the key model is unknown. Did you mean models"),
        ('models = ["a"]\nlimit_parameter = "n"', "'max_completion_tokens' or 'max_tokens'"),
        ('models = ["a"]\nsubjects = ["pull"]', "Choose issue or pair"),
        ('models = ["a"]\nmax_cost = 1', r'\[prices."a"\]'),
        ('models = ["a"]\n[prices.a]\ninput = "1"\noutput = 2', "prices.a.input"),
        ('models = ["a"]\nbase_url = "http://me:pw@h/v1"', "credentials"),
    ],
)
def test_bad_settings_are_told(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "review.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        load_review_settings(path, {}, {})


def kept_numbers(verdicts: pa.Table, required: list[str]) -> list[int]:
    """Return the issues that pass, as builders count."""
    fate: dict[int, bool] = {}
    for row in verdicts.to_pylist():
        if row["decides"] or row["criterion"] in required:
            fate[row["issue"]] = fate.get(row["issue"], True) and bool(row["keep"])
    return sorted(issue for issue, good in fate.items() if good)


def test_builders_can_require_a_review(tmp_path: Path) -> None:
    lab = workspace(tmp_path, 4)
    answers = {2: answer("drop", "Leak 2", reasons=["unclear"]), 3: answer("unsure", "Leak 3")}
    with OpenAIServer(by_number(answers)) as server:
        review(lab, server)
        name = "question-answer"
        before, reviewed = read_verdicts(lab, REPO, "own"), read_reviews(lab, REPO, "own")
        assert kept_numbers(with_reviews(before, [reviewed], {name: "issue"}), [name]) == [1, 4]
        people = [
            {**row, "stage": "people", "keep": row["issue"] == 3}
            for row in reviewed.to_pylist()
            if row["issue"] in (3, 4)
        ]
        table = pa.Table.from_pylist(people, schema=VERDICTS.schema)
        both = with_reviews(before, [table, reviewed], {name: "issue"})
        assert kept_numbers(both, [name]) == [1, 3]
        assert len(both) == len(before) + 4
        undecided = [{**row, "keep": None} for row in people]
        silent = pa.Table.from_pylist(undecided, schema=VERDICTS.schema)
        left_open = with_reviews(before, [silent, reviewed], {name: "issue"})
        assert kept_numbers(left_open, [name]) == [1, 4], "who leaves it open leaves it to the next"
        review(lab, server, limit=2)
        few = read_reviews(lab, REPO, "own")
        left = with_reviews(before, [few], {name: "issue"})
        assert set(kept_numbers(left, [name])) <= set(few["issue"].to_pylist())
        unseen = [row for row in left.to_pylist() if row["reason"] == "not-asked"]
        assert len(unseen) == 2


def test_a_review_of_other_tables_does_not_count(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    with pytest.raises(WorkspaceError, match="was not reviewed"):
        read_reviews(lab, REPO, "own")
    with OpenAIServer(lambda _: answer("keep", QUOTE)) as server:
        review(lab, server)
        assert len(rows(lab)) == 3
        path = lab.table(REPO, "revisions")
        path.write_bytes(lab.table(REPO, "comments").read_bytes())
        with pytest.raises(WorkspaceError, match="changed since they were reviewed"):
            read_reviews(lab, REPO, "own")
        path.unlink()
        filtered(lab)
        assert len(read_reviews(lab, REPO, "own")) == 3


def test_a_prompt_that_names_a_reply_wants_its_number() -> None:
    assert load_prompt("question-answer").names_reply
    assert "reply: the number of the one reply" in load_prompt("question-answer").instructions(
        code="x"
    )
    assert not load_prompt("problem-solution").names_reply
    assert "reply:" not in load_prompt("problem-solution").instructions(code="x")
    schema = answer_schema(["unclear"], names_reply=True)
    assert schema["required"] == ["evidence", "reasons", "reply", "verdict", "confidence"]
    text = answer("keep", "words", reply=2).content or ""
    assert parse_answer(text, [], names_reply=True).reply == 2
    for reply in (None, 0):
        with pytest.raises(ValueError, match="reply: the verdict is keep, and no reply is named"):
            parse_answer(answer("keep", "words", reply=reply).content or "", [], names_reply=True)
    dropped = answer("drop", "words", reply=0).content or ""
    assert parse_answer(dropped, [], names_reply=True).verdict == "drop"


LETTERS = {"k": True, "d": False, "?": None}


def verdicts(letters: str, criterion: str = "question-answer", stage: str = "llm") -> pa.Table:
    """Return verdicts on issues 1, 2, ... out of k (keep), d (drop), ? (undecided), . (none)."""
    rows = [
        {
            "repo": REPO,
            "subject": "issue",
            "issue": number,
            "stage": stage,
            "criterion": criterion,
            "keep": LETTERS[letter],
        }
        for number, letter in enumerate(letters, 1)
        if letter != "."
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS.schema)
