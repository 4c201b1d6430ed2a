"""Small language models with random weights and tokenizers made on the spot: no network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from string import printable
from typing import Any

import pytest

from tests.shared_folder import made_once

torch: Any = pytest.importorskip("torch")
tokenizers: Any = pytest.importorskip("tokenizers")
transformers: Any = pytest.importorskip("transformers")

HIDDEN = 32
_LAYERS = 2
_HEADS = 4
_POSITIONS = 66
_SPREAD = 0.1
"""Of weights: with the usual one so small a model learns nothing in a few steps."""
_TEXT = (
    "the system shall compute display store notify fast secure reliable within seconds user of a "
    "gravel sieve record station creek Install pan on Windows and call wash before it leaks now"
)
"""Those that have a token of their own; others are spelled. Nothing is trained: trainers of
tokenizers differ from process to process."""


def _byte_level(special: list[str], template: str | None) -> Any:
    """Byte pairs, as RoBERTa, GPT-2, Llama 3 and StarCoder2 have them."""
    merges: list[tuple[str, str]] = []
    for word in _TEXT.split():
        for end in range(1, len(word)):
            merges.append((word[:end], word[end]))
        merges.append(("Ġ", word))
    merges = list(dict.fromkeys(merges))
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pieces = dict.fromkeys([*special, *alphabet, *("".join(pair) for pair in merges)])
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    return _framed(made, template, special)


def _word_pieces(special: list[str], template: str) -> Any:
    """Lower-cased pieces, as BERT has them."""
    letters = [char for char in printable.lower() if not char.isspace()]
    words = [word.lower() for word in _TEXT.split()]
    pieces = dict.fromkeys([*special, *letters, *(f"##{char}" for char in letters), *words])
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    return _framed(made, template, special)


def _pieces(special: list[str], template: str) -> Any:
    """Pieces that keep spaces, as T5 has them."""
    letters = [char for char in printable if not char.isspace()]
    pieces = dict.fromkeys([*special, "▁", *letters, *(f"▁{word}" for word in _TEXT.split())])
    scored = [(piece, -1.0 if piece.startswith("▁") else -5.0) for piece in pieces]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(scored, unk_id=2))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    return _framed(made, template, special)


def _framed(made: Any, template: str | None, special: list[str]) -> Any:
    if template is not None:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single=template, special_tokens=[(name, made.token_to_id(name)) for name in special]
        )
    return made


def _named(words: str, special: Iterable[str]) -> dict[str, str]:
    """Return special tokens by the names of their roles."""
    return {f"{word}_token": token for word, token in zip(words.split(), special, strict=True)}


def _save(path: Path, tokenizer: Any, names: Mapping[str, str], config: Any, auto: str) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
        fast.save_pretrained(path)
        torch.manual_seed(7)
        getattr(transformers, auto).from_config(config).save_pretrained(path)
    return path


def _sizes(vocabulary: int) -> dict[str, float]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "intermediate_size": 2 * HIDDEN,
        "max_position_embeddings": _POSITIONS,
        "initializer_range": _SPREAD,
    }


def bert(path: Path) -> Path:
    """An encoder without capital letters."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = _word_pieces(special, "[CLS] $A [SEP]")
    names = _named("pad unk cls sep mask", special)
    config = transformers.BertConfig(**_sizes(tokenizer.get_vocab_size()), pad_token_id=0)
    return _save(path, tokenizer, names, config, "AutoModelForMaskedLM")


def distilbert(path: Path) -> Path:
    """An encoder whose head has two layers, of which one is named like the end of the other."""
    bert(path)
    config = transformers.DistilBertConfig(
        vocab_size=transformers.AutoConfig.from_pretrained(path).vocab_size,
        dim=HIDDEN,
        hidden_dim=2 * HIDDEN,
        n_layers=_LAYERS,
        n_heads=_HEADS,
        max_position_embeddings=_POSITIONS,
        initializer_range=_SPREAD,
    )
    torch.manual_seed(7)
    transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(path)
    return path


def roberta(path: Path) -> Path:
    """An encoder whose positions begin after its padding token, of byte pairs."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = _byte_level(special, "<s> $A </s>")
    names = _named("bos pad eos unk mask", special)
    config = transformers.RobertaConfig(
        **_sizes(tokenizer.get_vocab_size()), pad_token_id=1, bos_token_id=0, eos_token_id=2
    )
    return _save(path, tokenizer, names, config, "AutoModelForMaskedLM")


def gpt2(path: Path) -> Path:
    """A decoder with learned positions, without a padding token and without a frame."""
    tokenizer = _byte_level(["<|endoftext|>"], None)
    names = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    config = transformers.GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_embd=HIDDEN,
        n_layer=_LAYERS,
        n_head=_HEADS,
        n_positions=_POSITIONS,
        initializer_range=_SPREAD,
        bos_token_id=0,
        eos_token_id=0,
    )
    return _save(path, tokenizer, names, config, "AutoModelForCausalLM")


def llama(path: Path) -> Path:
    """A decoder with rotary positions and a token at the begin, without a padding token."""
    tokenizer = _byte_level(["<s>", "</s>"], "<s> $A")
    names = {"bos_token": "<s>", "eos_token": "</s>"}
    config = transformers.LlamaConfig(
        **_sizes(tokenizer.get_vocab_size()), bos_token_id=0, eos_token_id=1
    )
    return _save(path, tokenizer, names, config, "AutoModelForCausalLM")


def starcoder2(path: Path) -> Path:
    """A decoder that SELU fills on the left."""
    tokenizer = _byte_level(["<|endoftext|>"], None)
    names = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    config = transformers.Starcoder2Config(
        **_sizes(tokenizer.get_vocab_size()), num_key_value_heads=2, bos_token_id=0, eos_token_id=0
    )
    return _save(path, tokenizer, names, config, "AutoModelForCausalLM")


def t5(path: Path) -> Path:
    """An encoder-decoder."""
    special = ["<pad>", "</s>", "<unk>"]
    tokenizer = _pieces(special, "$A </s>")
    names = _named("pad eos unk", special)
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=HIDDEN,
        d_kv=HIDDEN // _HEADS,
        d_ff=2 * HIDDEN,
        num_layers=_LAYERS,
        num_heads=_HEADS,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    return _save(path, tokenizer, names, config, "AutoModelForSeq2SeqLM")


KINDS: Mapping[str, Callable[[Path], Path]] = {
    "bert": bert,
    "roberta": roberta,
    "gpt2": gpt2,
    "llama": llama,
    "starcoder2": starcoder2,
    "t5": t5,
}


def tiny(kind: str) -> Path:
    """Return a folder with the weights of that kind, written by the first process that asks."""
    return made_once(f"tiny-{kind}", KINDS[kind])
