"""Speed of fine-tuning beside a plain PyTorch loop, on random weights and synthetic texts.

    python -m benchmarks.finetune_gpu            on a GPU: BERT-base and a decoder of 1B weights
    python -m benchmarks.finetune_gpu --smoke    anywhere: sizes that a processor takes in seconds

Both train the same weights on the same texts, of lengths such as SELU's issues have, tokenized
before. The plain loop is what one would write by hand: shuffled batches, padded to their longest,
AdamW, bfloat16 by autocast. Goldpan's runs are its own trainings, which group texts by length;
its seconds are of the steps, without the checkpoint at the end. Model FLOPs
are 6 x weights x tokens, and 12 x layers x width x length x length for attention, of real tokens
alone; utilization is their rate over the peak of the GPU in bfloat16.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import task_family
from goldpan.evaluation.finetune.job import TrainingJob, TrainingSettings
from goldpan.evaluation.finetune.launch import run_job
from goldpan.evaluation.finetune.loading import load_model, pick_device, quiet
from goldpan.evaluation.model import load

PEAKS = {"A100": 312e12, "H100": 989e12, "H200": 989e12, "L4": 121e12, "A10": 125e12}
"""FLOP a second in bfloat16, dense, by the name of the GPU, as their makers tell."""
_WORDS = 6_000
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Size:
    """A model to measure."""

    name: str
    decoder: bool
    width: int
    layers: int
    heads: int
    rows: int
    batch: int


FULL = (
    Size("BERT-base (encoder)", False, 768, 12, 12, 6_400, 64),
    Size("1B decoder (Llama)", True, 2_048, 15, 16, 1_280, 64),
)
SMOKE = (
    Size("tiny encoder", False, 32, 2, 2, 64, 16),
    Size("tiny decoder", True, 32, 2, 2, 64, 16),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to train one model."""

    model: str
    way: str
    weights: int
    seconds: float
    tokens: int
    flops: float
    memory: int
    """The most bytes that tensors took on the GPU; 0 where there is none."""
    device_batch: int


def synthetic(count: int, seed: int = 0) -> list[str]:
    """Return texts as long as SELU's issues: half below 120 words, some cut at 512 tokens."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(_WORDS)]
    lengths = [min(600, max(8, round(draw.lognormvariate(4.7, 0.9)))) for _ in range(count)]
    return [" ".join(draw.choices(words, k=length)) for length in lengths]


def write_weights(size: Size, directory: Path) -> Path:
    """Write random weights with a tokenizer that knows one token a word."""
    tokenizers, transformers = load("tokenizers"), load("transformers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    names = [*special, *(f"w{number}" for number in range(_WORDS))]
    vocabulary = {name: number for number, name in enumerate(names)}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if not size.decoder:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    shape = {
        "vocab_size": 32_000 if size.width > 100 else len(vocabulary),
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": 4 * size.width,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
    }
    with quiet():
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", eos_token="[SEP]"
        ).save_pretrained(directory)
        kind = "Llama" if size.decoder else "Bert"
        config = getattr(transformers, f"{kind}Config")(**shape)
        load("torch").manual_seed(0)
        getattr(transformers, f"{kind}Model")(config).save_pretrained(directory)
    return directory


def job_of(size: Size, weights: Path, directory: Path) -> TrainingJob:
    """Return one epoch over synthetic texts with three labels."""
    task = find_task("issue_type")
    names = task.label_names
    schema = task_family(task).schema
    rows = [
        {**dict.fromkeys(schema.names), "id": f"{at:06d}", "text": text, "label": names[at % 3]}
        for at, text in enumerate(synthetic(size.rows))
    ]
    settings = TrainingSettings(epochs=1, evaluations=1, batch=size.batch, learning_rate=1e-5)
    table = pa.Table.from_pylist(rows, schema=schema)
    directory.mkdir()
    return TrainingJob(task, table, None, settings, 0, weights, directory)


def by_goldpan(size: Size, job: TrainingJob) -> Measured:
    """Train as `goldpan evaluate finetune` does, and read what it tells of itself."""
    facts = run_job(job, Reporter(quiet=True))
    loaded = load_model(job, load("torch").device("cpu"))
    lengths = [len(example.ids) for example in loaded.head.examples(job.train, learn=True)]
    return Measured(
        size.name,
        "Goldpan",
        facts["parameters"],
        facts["seconds"],
        facts["tokens"],
        model_flops(size, facts["parameters"], lengths),
        _memory(),
        facts["device_batch"],
    )


def by_hand(size: Size, job: TrainingJob, device_batch: int) -> Measured:
    """Train by a loop as one would write it; as many rows at once as Goldpan could take."""
    torch = load("torch")
    torch.manual_seed(0)
    device = pick_device("auto")
    loaded = load_model(job, device)
    module, tokenizer = loaded.module.train(), loaded.head.tokenizer
    encoded = tokenizer(job.train["text"].to_pylist(), truncation=True)["input_ids"]
    labels = [job.task.label_names.index(label) for label in job.train["label"].to_pylist()]
    numbers = torch.tensor(labels)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-5, weight_decay=0.01)
    order = torch.randperm(len(encoded))
    begun = time.monotonic()
    for step in order.split(job.settings.batch):
        for rows in step.split(device_batch):
            batch = tokenizer.pad(
                {"input_ids": [encoded[row] for row in rows]}, return_tensors="pt"
            ).to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=loaded.half):
                loss = module(**batch, labels=numbers[rows].to(device)).loss
            (loss * (len(rows) / len(step))).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    float(loss.detach())
    seconds = time.monotonic() - begun
    lengths = [len(row) for row in encoded]
    weights = sum(parameter.numel() for parameter in module.parameters())
    flops = model_flops(size, weights, lengths)
    return Measured(
        size.name, "plain PyTorch", weights, seconds, sum(lengths), flops, _memory(), device_batch
    )


def model_flops(size: Size, weights: int, lengths: Sequence[int]) -> float:
    """Return what forward and backward need for rows of real tokens, without recomputation."""
    vocabulary = 32_000 if size.width > 100 else _WORDS + 4
    dense = weights - vocabulary * size.width  # looking tokens up is no multiplication
    attention = 12 * size.layers * size.width
    return float(sum(6 * dense * length + attention * length * length for length in lengths))


def _memory() -> int:
    cuda = load("torch").cuda
    return int(cuda.max_memory_allocated()) if cuda.is_available() else 0


def measure(sizes: Sequence[Size], scratch: Path, rounds: int) -> Iterator[Measured]:
    """Yield the best of some rounds of each way, in turn."""
    for at, size in enumerate(sizes):
        weights = write_weights(size, scratch / f"weights-{at}")
        best: dict[str, Measured] = {}
        for number in range(rounds):
            job = job_of(size, weights, scratch / f"{at}-{number}")
            _fresh()
            ours = by_goldpan(size, job)
            _fresh()
            for measured in (ours, by_hand(size, job, ours.device_batch)):
                fastest = best.get(measured.way)
                if fastest is None or measured.seconds < fastest.seconds:
                    best[measured.way] = measured
        yield from best.values()


def _fresh() -> None:
    gc.collect()
    cuda = load("torch").cuda
    if cuda.is_available():
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()


def table(measured: Sequence[Measured], peak: float | None) -> str:
    """Return a Markdown table; Goldpan's rows tell their speed beside the plain loop's."""
    lines = [
        "| model | weights | loop | tokens/s | beside plain | memory | FLOP/s | utilization |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    plain = {row.model: row for row in measured if row.way == "plain PyTorch"}
    for row in measured:
        speed = row.tokens / row.seconds
        beside = speed / (plain[row.model].tokens / plain[row.model].seconds)
        rate = row.flops / row.seconds
        share = f"{rate / peak:.1%}" if peak else "unknown peak"
        memory = f"{row.memory / 2**30:.1f} GiB" if row.memory else "-"
        lines.append(
            f"| {row.model} | {row.weights / 1e6:,.1f} M | {row.way} "
            f"| {speed:,.0f} | {beside:.2f} | {memory} | {rate / 1e12:.3f} T | {share} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, for a processor")
    arguments = parser.parse_args()
    torch = load("torch")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    if not gpu and not arguments.smoke:
        parser.error("PyTorch sees no GPU; --smoke measures tiny sizes on the processor")
    peak = next((value for name, value in PEAKS.items() if name in gpu), None)
    with tempfile.TemporaryDirectory() as scratch:
        sizes = SMOKE if arguments.smoke else FULL
        measured = list(measure(sizes, Path(scratch), 1 if arguments.smoke else _ROUNDS))
    print(f"{gpu or 'processor'}, torch {torch.__version__}\n")
    print(table(measured, peak))


if __name__ == "__main__":
    main()
