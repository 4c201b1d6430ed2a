"""What the benchmark of fine-tuning counts, and what it is measured on; `tests/scale` runs it."""

from __future__ import annotations

from benchmarks.finetune_gpu import FULL, Measured, Size, model_flops, synthetic, table


def test_utilization_counts_real_tokens() -> None:
    size = Size("small", True, 200, 2, 2, 1, 1)
    assert model_flops(size, 32_000 * 200 + 1_000, [10]) == 6 * 1_000 * 10 + 12 * 2 * 200 * 100
    measured = [
        Measured("m", "plain PyTorch", 10**9, 2.0, 1_000, 50e12, 2**30, 8),
        Measured("m", "Goldpan", 10**9, 1.0, 1_000, 50e12, 2**31, 8),
    ]
    plain, ours = table(measured, 100e12).splitlines()[2:]
    assert "| 500 | 1.00 | 1.0 GiB | 25.000 T | 25.0% |" in plain
    assert "| 1,000 | 2.00 | 2.0 GiB | 50.000 T | 50.0% |" in ours


def test_the_decoder_has_a_billion_weights_and_texts_are_as_long_as_issues() -> None:
    decoder = FULL[1]
    layer = 4 * decoder.width**2 + 3 * 4 * decoder.width**2
    assert 1e9 <= decoder.layers * layer + 32_000 * decoder.width <= 1.2e9
    lengths = sorted(len(text.split()) for text in synthetic(1_000))
    assert 90 < lengths[500] < 130
    assert synthetic(5) == synthetic(5)
