"""Every head trains for real on every kind of model that has it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
import safetensors.torch as safetensors

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.finetune.heads import NOT_ASKED, LoadedModel, decoded, out_of_memory
from goldpan.evaluation.finetune.job import TrainingJob, TrainingSettings
from goldpan.evaluation.finetune.loading import load_model, pick_device
from goldpan.evaluation.finetune.text_heads import GenerationHead
from goldpan.evaluation.model import Answers
from goldpan.evaluation.models.finetuned import finetuned
from goldpan.evaluation.score import predictions_schema, score
from tests.evaluating import rows
from tests.finetuning import QUICK, SEQUENCES, example_rows, fit, lesson, masked
from tests.tiny_models import KINDS, distilbert, tiny, torch

ENCODERS = ("bert", "roberta")
DECODERS = ("gpt2", "llama", "starcoder2")


def _load(kind: str, name: str, **settings: Any) -> LoadedModel:
    task, table = example_rows(name)
    job = TrainingJob(task, table, None, TrainingSettings(**settings), 0, tiny(kind), Path())
    torch.manual_seed(1)
    return load_model(job, pick_device("cpu"))


def _answers(loaded: LoadedModel, table: pa.Table, batch: int) -> Answers:
    return loaded.head.answers(loaded, table, batch)


def _saved(directory: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of the checkpoint that answers."""
    (path,) = (directory / facts["learned"]).glob("*model.safetensors")
    weights: dict[str, Any] = safetensors.load_file(path)
    return weights


def _pairs() -> Iterator[tuple[str, str]]:
    yield from itertools.product(KINDS, SEQUENCES)
    yield from ((kind, "se_entities") for kind in KINDS)
    yield from ((kind, "requirement_completion") for kind in ENCODERS)
    yield from ((kind, "qa") for kind in (*DECODERS, "t5"))


@pytest.mark.parametrize(("kind", "name"), list(_pairs()))
def test_every_head_trains_and_answers(kind: str, name: str, tmp_path: Path) -> None:
    task, table = example_rows(name)
    learned = fit(kind, lesson(task, table, tmp_path))
    facts = learned.facts
    answers = learned.answer(table)
    assert len(answers.values) == len(table)
    assert len(facts["losses"]) == 8
    assert min(facts["losses"][4:]) < facts["losses"][0]
    match task.type:
        case "binary" | "multi-class":
            assert set(answers.values) <= set(task.label_names)
            assert answers.scores is not None
            assert all(abs(sum(row) - 1) < 1e-5 for row in answers.scores)
        case "multi-label":
            assert answers.scores is not None
            for names, scores in zip(answers.values, answers.scores, strict=True):
                scored = zip(task.label_names, scores, strict=True)
                assert names == [label for label, value in scored if value >= 0.5]
        case "regression":
            assert all(isinstance(value, float) and 1 <= value <= 5 for value in answers.values)
        case "ner":
            assert all(isinstance(tags, list) and len(tags) == 6 for tags in answers.values)
        case "mlm":
            assert all(isinstance(words, list) and len(words) == 2 for words in answers.values)
        case _:
            assert all(isinstance(text, str) for text in answers.values)
            assert answers.raw is not None


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_learned_is_learned(kind: str, tmp_path: Path) -> None:
    task, table = example_rows("issue_type", 48)
    context = lesson(task, table, tmp_path)
    learned = fit(kind, context, epochs=12)
    right = table["label"].to_pylist()
    values = learned.answer(table).values
    assert sum(value == other for value, other in zip(values, right, strict=True)) >= 46
    assert learned.facts["best"] >= 0.9
    assert context.costs.input_tokens > learned.facts["tokens"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_no_answer(kind: str) -> None:
    """A row alone and beside a longer one has the same state pooled."""
    short, long = "gravel", "the system shall compute and display the record of a station"
    task, _ = example_rows("requirement_type")
    table = rows(task, [(short, task.label_names[0]), (long, task.label_names[1])])
    loaded = _load(kind, "requirement_type")
    alone, beside = (torch.tensor(_answers(loaded, table, batch).scores) for batch in (1, 2))
    assert torch.allclose(alone, beside, atol=1e-5)


def test_an_encoder_decoder_has_one_end_token_in_every_row() -> None:
    loaded = _load("t5", "requirement_type")
    end = loaded.head.tokenizer.eos_token_id
    task = loaded.head.task
    texts = ["gravel", "a </s> in the text </s></s>", "", "sieve " * 600]
    table = rows(task, [(text, task.label_names[0]) for text in texts])
    examples = loaded.head.examples(table, learn=True)
    assert [list(example.ids).count(end) for example in examples] == [1, 1, 1, 1]
    assert all(example.ids[-1] == end for example in examples)
    assert all(len(example.ids) <= 512 for example in examples)
    answers = _answers(loaded, table, 4)
    assert len(answers.values) == 4
    assert answers.notes == {"text_cut": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_look_like_tokens_or_are_empty_or_long(kind: str) -> None:
    loaded = _load(kind, "requirement_type")
    task = loaded.head.task
    texts = ["<|endoftext|>", "[MASK] [SEP] <mask>", "", "\n", "\u200b", "x" * 20_000, "\U0001f600"]
    table = rows(task, [(text, task.label_names[0]) for text in texts])
    special = set(loaded.head.tokenizer.all_special_ids)
    frame = loaded.head.tokenizer("gravel")["input_ids"]
    bare = loaded.head.tokenizer("gravel", add_special_tokens=False)["input_ids"]
    begin = frame.index(bare[0])
    end = len(frame) - len(bare) - begin
    for example in loaded.head.examples(table, learn=False):
        assert 1 <= len(example.ids) <= 512
        inner = list(example.ids)[begin : len(example.ids) - end]
        assert not special - {loaded.head.tokenizer.unk_token_id} & set(inner)
    answers = _answers(loaded, table, 3)
    assert all(scores == scores for scores in answers.scores or ())


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_aligned_with_their_tokens(kind: str) -> None:
    loaded = _load(kind, "se_entities")
    tokenizer = loaded.head.tokenizer
    tokens = ["call", "Windows", "", "\u200b", "gravel-sieve", "now"]
    table = rows(
        loaded.head.task, [(tokens, ["O", "B-Operating_System", "O", "O", "B-Library", "O"])]
    )
    (example,) = loaded.head.examples(table, learn=True)
    positions = {at for at, target in enumerate(example.target) if target != NOT_ASKED}
    assert positions == {first for _, first, _ in example.words}
    assert {word for word, _, _ in example.words} >= {0, 1, 4, 5}
    for word, first, _ in example.words:
        piece = decoded(tokenizer, example.ids[first : first + 1]).lower()
        assert word == 3 or (piece and tokens[word].lower().startswith(piece))
    (answered,) = _answers(loaded, table, 1).values
    assert isinstance(answered, list)
    assert (len(answered), answered[2]) == (6, "O")


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_longer_than_windows_overlap_is_answered_too(kind: str) -> None:
    """Such as an address, or an identifier that is spelled."""
    loaded = _load(kind, "se_entities")
    words = ["now", "foo_bar.baz.qux()", "https://example.org/a/b/c?d=e#f"] * 30
    table = rows(loaded.head.task, [(words, ["B-Library"] * len(words))])
    examples = loaded.head.examples(table, learn=True)
    answered = sorted(word for example in examples for word, _, _ in example.words)
    assert answered == list(range(len(words)))


@pytest.mark.parametrize("name", ["se_entities", "requirement_type"])
def test_weights_that_cut_texts_at_their_start_are_cut_at_their_end(
    name: str, tmp_path: Path
) -> None:
    """As the tokenizers of dialog models say of themselves."""
    weights = tmp_path / "weights"
    shutil.copytree(tiny("bert"), weights)
    path = weights / "tokenizer_config.json"
    told = {**orjson.loads(path.read_bytes()), "truncation_side": "left", "padding_side": "left"}
    path.write_bytes(orjson.dumps(told))
    task, _ = example_rows(name)
    words = ["Windows", "gravel", "now"] * 60
    value = ["O"] * len(words) if task.type == "ner" else task.label_names[0]
    table = rows(task, [(words if task.type == "ner" else " ".join(words), value)])
    job = TrainingJob(task, table, None, TrainingSettings(), 0, weights, Path())
    mine = load_model(job, pick_device("cpu")).head.examples(table, learn=True)
    assert mine == _load("bert", name).head.examples(table, learn=True)


def test_only_the_words_that_are_named_are_masked_half_of_them_at_a_time() -> None:
    loaded = _load("bert", "requirement_completion")
    mask = loaded.head.tokenizer.mask_token_id
    text, spans = masked("the system shall notify the user and display it", "notify", "display")
    table = rows(loaded.head.task, [(text, spans)] * 400)
    examples = loaded.head.examples(table, learn=True)
    batch = loaded.head.batch(examples, "0 0")
    hidden = batch["input_ids"] == mask
    assert torch.equal(hidden, batch["labels"] != NOT_ASKED)
    allowed = {at for _, first, after in examples[0].words for at in range(first, after)}
    assert set(hidden.any(0).nonzero().flatten().tolist()) == allowed
    share = float(hidden[:, sorted(allowed)].float().mean())
    assert 0.42 < share < 0.58
    again = loaded.head.batch(examples, "0 0")["input_ids"]
    later = loaded.head.batch(examples, "0 1")["input_ids"]
    assert torch.equal(batch["input_ids"], again)
    assert not torch.equal(batch["input_ids"], later)


def test_masked_words_are_answered_alike_each_time_and_scored(tmp_path: Path) -> None:
    task, table = example_rows("requirement_completion")
    learned = fit("bert", lesson(task, table, tmp_path), word_epochs=8)
    answers = learned.answer(table)
    assert answers.values == learned.answer(table).values
    truth = [["shall", "notify"]] * len(table)
    nothing = [None] * len(table)
    columns = {
        **{name: table[name] for name in ("id", "repo", "document")},
        "truth": truth,
        "answer": answers.values,
        "scores": nothing,
        "raw": nothing,
    }
    predictions = pa.table(columns, schema=predictions_schema("mlm"))
    assert score(task, predictions, resamples=0).value("mlm_accuracy") == 1.0


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_prompts_do_not_count_as_answers(kind: str) -> None:
    loaded = _load(kind, "qa", answer_tokens=8)
    assert isinstance(loaded.head, GenerationHead)
    _, table = example_rows("qa")
    examples = loaded.head.examples(table, learn=True)[:2]
    batch = loaded.head.batch(examples, "")
    asked = [[token for token in row if token != NOT_ASKED] for row in batch["labels"].tolist()]
    assert [decoded(loaded.head.tokenizer, tokens) for tokens in asked] == ["the pan", "wash"]
    labels = [list(example.target) for example in examples]
    longest = max(len(target) for target in labels)
    theirs = torch.tensor([[*target, *[NOT_ASKED] * (longest - len(target))] for target in labels])
    right = batch.pop("labels")
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    loaded.module.eval()
    expected = loaded.module(**inputs, labels=theirs).loss
    logits = loaded.module(**batch).logits
    loss = loaded.head.loss(logits, right) / (right != NOT_ASKED).sum()
    assert torch.allclose(loss, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_a_long_text_leaves_room_for_its_answer(kind: str) -> None:
    loaded = _load(kind, "qa", answer_tokens=8)
    table = rows(loaded.head.task, [("gravel " * 6_000, "wash " * 600), ("sieve", "wash")])
    for example in loaded.head.examples(table, learn=True):
        assert len(example.ids) <= loaded.head.tokenizer.model_max_length
        assert example.target[-1] == loaded.head.tokenizer.eos_token_id
        assert 1 < sum(token != NOT_ASKED for token in example.target) <= 8
    questions = loaded.head.examples(table, learn=False)
    assert [question.cut for question in questions] == [True, False]


def test_a_written_text_is_learned(tmp_path: Path) -> None:
    task, table = example_rows("qa")
    learned = fit("llama", lesson(task, table, tmp_path), epochs=15)
    assert learned.answer(table.slice(0, 4)).values == ["the pan", "wash", "the pan", "wash"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("gpt2", "requirement_completion"), ("bert", "qa"), ("t5", "requirement_completion")],
)
def test_weights_without_such_a_head_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    task, table = example_rows(name)
    problem = f"tiny-{kind}, a {kind} model, has no head for {name}"
    with pytest.raises(EvaluationError, match=problem):
        fit(kind, lesson(task, table, tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_adapters_learn_instead_of_the_model(kind: str, tmp_path: Path) -> None:
    task, table = example_rows("issue_type")
    learned = fit(kind, lesson(task, table, tmp_path), lora=True, lora_rank=2, epochs=4)
    assert min(learned.facts["losses"][8:]) < learned.facts["losses"][0]
    assert learned.facts["trained_parameters"] < learned.facts["parameters"] / 3
    saved = _saved(tmp_path, learned.facts)
    heads = ("classifier", "score", "classification_head", "pooler")
    assert all("lora" in name or any(head in name for head in heads) for name in saved)
    assert not all("lora" in name for name in saved)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_adapters_keep_the_layers_that_the_weights_lack(kind: str, tmp_path: Path) -> None:
    """Weights of a masked language model have no pooler: one is drawn, trained and kept."""
    weights = tiny("bert") if kind == "bert" else distilbert(tmp_path / "weights")
    context = lesson(*example_rows("issue_type"), tmp_path / "work")
    model = finetuned({**QUICK, "weights": str(weights), "lora": True, "lora_rank": 2})
    answers = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        answers.append(model.fit(context).answer(context.train))
    assert answers[0] == answers[1]
    facts = orjson.loads((tmp_path / "work" / "trained.json").read_bytes())
    saved = _saved(tmp_path / "work", facts)
    drawn = "pooler" if kind == "bert" else "pre_classifier"
    assert any(drawn in name and "lora" not in name for name in saved)


@pytest.mark.parametrize(("kind", "lora"), [("bert", False), ("llama", True)])
def test_computes_in_bfloat16_where_told(kind: str, lora: bool, tmp_path: Path) -> None:
    task, table = example_rows("requirement_type")
    learned = fit(kind, lesson(task, table, tmp_path), precision="bf16", lora=lora, recompute=True)
    assert learned.facts["precision"] == "bf16"
    saved = _saved(tmp_path, learned.facts)
    assert {weight.dtype for weight in saved.values()} == {torch.float32}
    assert min(learned.facts["losses"][4:]) < learned.facts["losses"][0]


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_the_weights_own_rules_of_writing_do_not_count(kind: str) -> None:
    loaded = _load(kind, "qa", answer_tokens=8)
    table = example_rows("qa", 4)[1]
    plain = _answers(loaded, table, 2)
    rules = loaded.module.generation_config
    rules.min_length, rules.repetition_penalty = 7, 5.0
    rules.suppress_tokens = [loaded.head.tokenizer(text)["input_ids"][0] for text in plain.values]
    assert _answers(loaded, table, 2) == plain


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_an_answer_is_never_longer_than_what_was_learned(kind: str) -> None:
    table = rows(example_rows("qa", 1)[0], [("gravel " * 200, "wash")])
    loaded = _load(kind, "qa", answer_tokens=10_000)
    # Beyond its positions GPT-2 would end with an error.
    assert len(_answers(loaded, table, 1).values) == 1
    assert (
        loaded.module.generation_config.max_new_tokens
        == loaded.head.tokenizer.model_max_length // 2
    )


@pytest.mark.parametrize(
    ("message", "full"),
    [
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)", True),
        ("CUDA error: out of memory", True),
        ("[enforce fail] DefaultCPUAllocator: can't allocate memory", True),
        ("index out of range in self", False),
    ],
)
def test_memory_runs_out_in_many_words(message: str, full: bool) -> None:
    assert out_of_memory(RuntimeError(message)) is full
