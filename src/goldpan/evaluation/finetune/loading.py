"""Loads weights with the head that a task wants, as the device and the settings ask for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import target_column
from goldpan.evaluation.finetune.heads import LoadedModel, TaskHead
from goldpan.evaluation.finetune.job import TrainingJob, TrainingSettings
from goldpan.evaluation.finetune.text_heads import GenerationHead, SequenceHead, scale_of
from goldpan.evaluation.finetune.word_heads import MaskingHead, TaggingHead
from goldpan.evaluation.model import load

_HEADS = ("classifier", "score", "classification_head")
"""Names that transformers gives to the layers of a head; LoRA trains them whole."""
_OFFSET_POSITIONS = ("roberta", "camembert", "mpnet", "longformer")
"""Kinds of models whose positions begin after the number of the padding token."""


def load_model(job: TrainingJob, device: Any, learned: Path | None = None) -> LoadedModel:
    """Return the weights of a job with the head of its task, on a device.

    `learned` is the checkpoint to take what was learned from; without, new layers are drawn from
    PyTorch's generator. Raises `EvaluationError` where the weights have no such head, or do not
    load.
    """
    transformers, torch = load("transformers"), load("torch")
    settings = job.settings
    half = uses_half(settings.precision, device)
    with quiet(), explained(job):
        config = transformers.AutoConfig.from_pretrained(job.weights, local_files_only=True)
        head = _head(job, config, _tokenizer(job, config))
        _check_kind(job, head, config)
        if head.labeled:
            config.num_labels = len(job.task.labels) or 1
        # DeepSpeed keeps weights in float32 of its own, and adapters have theirs.
        short = half and (settings.lora or (settings.deepspeed != "none" and learned is None))
        module, report = getattr(transformers, f"AutoModelFor{head.auto}").from_pretrained(
            job.weights if learned is None or settings.lora else learned,
            config=config,
            dtype=torch.bfloat16 if short else torch.float32,
            ignore_mismatched_sizes=True,
            local_files_only=True,
            output_loading_info=True,
        )
        if settings.lora:
            module = _with_adapters(module, job, report, learned)
        if not settings.shares_weights or learned is not None:
            module = module.to(device)
    return LoadedModel(module, head, half, device)


def _tokenizer(job: TrainingJob, config: Any) -> Any:
    """Return the tokenizer of the weights, with a padding token and the longest row of the task.

    Raises `EvaluationError` for one that does not tell where tokens stand, or has nothing to fill
    rows with.
    """
    found = load("transformers").AutoTokenizer
    tokenizer = found.from_pretrained(job.weights, local_files_only=True)
    if not tokenizer.is_fast:
        raise EvaluationError(
            f"The tokenizer {type(tokenizer).__name__} does not report where tokens are in a text",
            "Use weights that bring a tokenizer.json",
        )
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise EvaluationError(
                "The tokenizer has neither a padding nor an end token",
                "Set pad_token in tokenizer_config.json of the weights",
            )
        tokenizer.pad_token = tokenizer.eos_token
    config.pad_token_id = tokenizer.pad_token_id
    tokenizer.truncation_side = "right"  # those of dialog models cut the start
    limits = [job.settings.max_length or job.task.max_length, int(tokenizer.model_max_length)]
    positions = getattr(config, "max_position_embeddings", None)
    if positions and not config.is_encoder_decoder:
        begins_late = any(kind in config.model_type for kind in _OFFSET_POSITIONS)
        limits.append(int(positions) - (config.pad_token_id + 1 if begins_late else 0))
    tokenizer.model_max_length = min(limits)
    return tokenizer


_MAPPINGS = {
    "SequenceClassification": "SEQUENCE_CLASSIFICATION",
    "TokenClassification": "TOKEN_CLASSIFICATION",
    "MaskedLM": "MASKED_LM",
    "CausalLM": "CAUSAL_LM",
    "Seq2SeqLM": "SEQ_TO_SEQ_CAUSAL_LM",
}


def _has_head(config: Any, auto: str) -> bool:
    """Return whether transformers has a head of that kind for a model."""
    heads = getattr(load("transformers"), f"MODEL_FOR_{_MAPPINGS[auto]}_MAPPING")
    return type(config) in heads


def uses_half(precision: str, device: Any) -> bool:
    """Return whether to compute in bfloat16; by itself only where a GPU has it."""
    if precision != "auto":
        return precision == "bf16"
    return device.type == "cuda" and bool(load("torch").cuda.is_bf16_supported())


def pick_device(device: str, number: int = 0) -> Any:
    """Return the GPU of that number where there is one, else the processor.

    Raises `EvaluationError` where a GPU is asked for and PyTorch sees none.
    """
    torch = load("torch")
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise EvaluationError(
            "PyTorch sees no GPU", "Set device=cpu, or install a build of torch for your GPU"
        )
    if device == "cpu" or not has_gpu:
        return torch.device("cpu")
    if number >= torch.cuda.device_count():
        raise EvaluationError(
            f"There are {torch.cuda.device_count()} GPUs for {number + 1} processes or more",
            "Give fewer --processes",
        )
    return torch.device("cuda", number)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings and progress bars of transformers."""
    logging = load("transformers").utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def explained(job: TrainingJob) -> Iterator[None]:
    """Raise errors of loading as `EvaluationError`."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "out of memory" in str(error):
            raise EvaluationError(
                f"{job.weights.name} does not fit on the device",
                "Choose smaller weights, --lora, or a device with more memory",
            ) from None
        message = " ".join(str(error).split())[:300]
        raise EvaluationError(
            f"{job.weights.name} cannot be loaded for {job.task.name} ({message})",
            "Check that the folder is complete and of a kind that transformers supports by "
            "itself: code that comes with weights is never run",
        ) from None


def _head(job: TrainingJob, config: Any, tokenizer: Any) -> TaskHead:
    task = job.task
    match task.type:
        case "ner":
            return TaggingHead(task, tokenizer)
        case "mlm":
            return MaskingHead(task, tokenizer, job.seed)
        case "text-generation":
            start = config.decoder_start_token_id if config.is_encoder_decoder else None
            return GenerationHead(task, tokenizer, job.settings.answer_tokens, start)
        case "regression":
            values = job.train[target_column(task.type).name].to_pylist()
            scale = scale_of(values, logarithm=job.settings.log_targets)
            return SequenceHead(task, tokenizer, scale)
        case _:
            return SequenceHead(task, tokenizer)


def _check_kind(job: TrainingJob, head: TaskHead, config: Any) -> None:
    """Refuse weights that cannot do what the task asks."""
    writes = job.task.type == "text-generation"
    # Transformers would load an encoder as a decoder, which it never was.
    encoder = writes and not config.is_encoder_decoder and _has_head(config, "MaskedLM")
    if encoder or not _has_head(config, head.auto):
        raise EvaluationError(
            f"{job.weights.name}, a {config.model_type} model, has no head for {job.task.name}, "
            f"which is {job.task.type}",
            "Choose weights of another kind: decoders and encoder-decoders write texts, encoders "
            "find masked words, and most take the other tasks",
        )
    if writes and head.tokenizer.eos_token_id is None:
        raise EvaluationError(
            f"The tokenizer of {job.weights.name} has no end token, so an answer has no end",
            "Set eos_token in its tokenizer_config.json",
        )


def _with_adapters(module: Any, job: TrainingJob, report: Any, learned: Path | None) -> Any:
    """Return the model with low-rank adapters at all its linear layers.

    The head, and layers that the weights lack, are trained whole: they know nothing yet.
    """
    peft = load("peft")
    if learned is not None:
        return peft.PeftModel.from_pretrained(module, learned)
    names = {*report["missing_keys"], *(mismatch[0] for mismatch in report["mismatched_keys"])}
    heads = {name for name, _ in module.named_children() if name in _HEADS}
    leaves = {name for name, layer in module.named_modules() if not any(layer.children())}
    fresh = {name.rpartition(".")[0] for name in names} & leaves
    whole = sorted(heads | {name for name in fresh if name.partition(".")[0] not in heads})
    settings = peft.LoraConfig(
        r=job.settings.lora_rank,
        lora_alpha=job.settings.lora_alpha,
        lora_dropout=0.05,
        target_modules="all-linear",
        exclude_modules=rf"(.*\.)?({'|'.join(map(re.escape, whole))})(\..*)?" if whole else None,
        modules_to_save=whole or None,
    )
    if job.settings.recompute:
        module.enable_input_require_grads()
    adapted = peft.get_peft_model(module, settings)
    for weight in adapted.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()  # small steps are lost in bfloat16
    return adapted


def deepspeed_config(settings: TrainingSettings, *, gpu: bool) -> dict[str, Any]:
    """Return DeepSpeed's configuration; the Trainer fills in `auto`."""
    number = 3 if settings.shares_weights else 2
    stage: dict[str, Any] = {"stage": number, "overlap_comm": gpu, "contiguous_gradients": True}
    if settings.deepspeed.endswith("-offload"):
        stage["offload_optimizer"] = {"device": "cpu", "pin_memory": gpu}
    if settings.shares_weights:
        stage["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "zero_optimization": stage,
        "zero_force_ds_cpu_optimizer": False,  # it wants a compiler
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": "auto"},
        "data_types": {"grad_accum_dtype": "fp32"},
        "gradient_clipping": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "steps_per_print": 1_000_000_000,
    }


@contextmanager
def sharing(settings: TrainingSettings, *, gpu: bool) -> Iterator[None]:
    """Share out weights among the processes as they are read, where the settings ask for it."""
    config = deepspeed_config(settings, gpu=gpu) | {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": settings.clip,
        "bf16": {"enabled": False},
    }
    # transformers asks whether such an object is alive.
    kept = (
        load("transformers.integrations").HfDeepSpeedConfig(config)
        if settings.shares_weights
        else None
    )
    yield
    del kept
