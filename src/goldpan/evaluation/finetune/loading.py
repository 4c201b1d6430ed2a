"""Loads weights with the head that a task wants, as the device and the settings ask for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Set
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import target_column
from goldpan.evaluation.finetune.heads import LoadedModel, ModelTokenizer, TaskHead, model_tokenizer
from goldpan.evaluation.finetune.job import TrainingJob
from goldpan.evaluation.finetune.text_heads import GenerationHead, SequenceHead, scale_of
from goldpan.evaluation.finetune.word_heads import MaskingHead, TaggingHead
from goldpan.evaluation.model import load

_HEADS = ("classifier", "score", "classification_head")
"""Names that transformers gives to the layers of a head; LoRA trains them whole."""
_FLASH = (8, 0)
"""Ampere: the first GPUs that FlashAttention 2 runs on."""


def load_model(job: TrainingJob, device: Any, *, master_copies: bool = False) -> LoadedModel:
    """Return the weights of a job with the head of its task, on a device.

    `master_copies` says that the optimizer keeps weights in float32 of its own, so that the model
    need not. New layers are drawn from PyTorch's generator. Raises `EvaluationError` where the
    weights have no such head, or do not load.
    """
    transformers = load("transformers")
    settings = job.settings
    half = uses_half(settings.precision, device)
    with quiet(), explained(job):
        config = transformers.AutoConfig.from_pretrained(job.weights, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(job.weights, local_files_only=True)
        own_tokenizer = model_tokenizer(
            tokenizer, config, settings.max_length or job.task.max_length, settings.padding
        )
        head = _head(job, config, own_tokenizer)
        auto = getattr(transformers, head.auto)
        _check_kind(job, head, auto, config, tokenizer)
        attention = _attention(job, auto, config, device, half=half)
        if head.labelled:
            config.num_labels = len(job.task.labels) or 1
        torch = load("torch")
        frozen = settings.lora or master_copies
        module, report = auto.from_pretrained(
            job.weights,
            config=config,
            attn_implementation=attention,
            dtype=torch.bfloat16 if half and frozen else torch.float32,
            ignore_mismatched_sizes=True,
            local_files_only=True,
            output_loading_info=True,
        )
        if settings.recompute:
            module.gradient_checkpointing_enable({"use_reentrant": False})
        if settings.lora:
            names = {
                *report["missing_keys"],
                *(mismatch[0] for mismatch in report["mismatched_keys"]),
            }
            module = _adapted(module, job, {name.rpartition(".")[0] for name in names})
        module = module.to(device)
    return LoadedModel(module, head, attention, half, device)


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


def _head(job: TrainingJob, config: Any, tokenizer: ModelTokenizer) -> TaskHead:
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


def _check_kind(job: TrainingJob, head: TaskHead, auto: Any, config: Any, tokenizer: Any) -> None:
    """Refuse weights that cannot do what the task asks."""
    masked = load("transformers").AutoModelForMaskedLM
    writes = job.task.type == "text-generation"
    # Transformers would load an encoder as a decoder, which it never was.
    encoder = writes and not config.is_encoder_decoder and type(config) in masked._model_mapping
    if encoder or type(config) not in auto._model_mapping:
        raise EvaluationError(
            f"{job.weights.name}, a {config.model_type} model, has no head for {job.task.name}, "
            f"which is {job.task.type}",
            "Choose weights of another kind: decoders and encoder-decoders write texts, encoders "
            "find masked words, and most take the other tasks",
        )
    if writes and tokenizer.eos_token_id is None:
        raise EvaluationError(
            f"The tokenizer of {job.weights.name} has no end token, so an answer has no end",
            "Set eos_token in its tokenizer_config.json",
        )


def _attention(job: TrainingJob, auto: Any, config: Any, device: Any, *, half: bool) -> str:
    """Return the implementation that is asked for, or the fastest that can run."""
    kind = auto._model_mapping[type(config)]
    kind = kind[0] if isinstance(kind, tuple) else kind
    cuda = device.type == "cuda"
    flash = (
        cuda
        and half
        and bool(kind._supports_flash_attn)
        and find_spec("flash_attn") is not None
        and load("torch").cuda.get_device_capability(device) >= _FLASH
    )
    attention = job.settings.attention
    if attention == "flash" and not flash:
        raise EvaluationError(
            f"{job.weights.name} cannot use FlashAttention here: it wants a model that supports "
            "it, bf16, an Ampere GPU or newer, and the package flash-attn",
            "Run pip install flash-attn there, or set attention=auto",
        )
    if attention in ("auto", "flash") and flash:
        return "flash_attention_2"
    if attention == "eager" or not kind._supports_sdpa:
        return "eager"
    return "sdpa"


def _adapted(module: Any, job: TrainingJob, fresh: Set[str]) -> Any:
    """Return the model with low-rank adapters at all its linear layers.

    The head, and `fresh` layers that the weights lack, are trained whole: they know nothing yet.
    """
    peft = load("peft")
    torch = load("torch")
    conv = load("transformers.pytorch_utils").Conv1D  # GPT-2's linear layer
    heads = [name for name, _ in module.named_children() if name in _HEADS]
    leaves = {name for name, layer in module.named_modules() if not any(layer.children())}
    initialized = sorted(name for name in fresh & leaves if name.partition(".")[0] not in heads)
    whole = [*heads, *initialized]
    out = module.get_output_embeddings()
    targets = [
        name
        for name, layer in module.named_modules()
        if isinstance(layer, torch.nn.Linear | conv)
        and layer is not out
        and name.partition(".")[0] not in heads
        and not name.endswith(tuple(whole))  # as peft finds what it saves
    ]
    settings = peft.LoraConfig(
        r=job.settings.lora_rank,
        lora_alpha=job.settings.lora_alpha,
        lora_dropout=0.05,
        target_modules=targets,
        modules_to_save=whole or None,
    )
    if job.settings.recompute:
        module.enable_input_require_grads()
    adapted = peft.get_peft_model(module, settings)
    for weight in adapted.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()  # small steps are lost in bfloat16
    return adapted


def learned(module: Any) -> dict[str, Any]:
    """Return the weights that training changes, on the processor."""
    return {
        name: weight.detach().to("cpu", copy=True)
        for name, weight in module.named_parameters()
        if weight.requires_grad
    }


def put_back(module: Any, weights: dict[str, Any]) -> None:
    """Set the weights that `learned` returned."""
    torch = load("torch")
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(weight)
