"""The command that fine-tunes language models on tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.runs_screen import print_ran
from goldpan.commands.shared import Directory, Json, OwnTasks, layout_of, print_result, reporting
from goldpan.core.errors import UsageError


def finetune(
    task: Annotated[
        list[str] | None, typer.Option(help="A task; may be given several times.")
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder, OWNER/NAME@COMMIT on the Hugging Face Hub, or minilm; may be given "
            "several times."
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option(help="Fetch weights from the Hub that are not on this machine.")
    ] = False,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="A seed; may be given several times. (default: the protocol's, 0)",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(help="See goldpan evaluate protocols; selu-paper brings its own recipe."),
    ] = "default",
    epochs: Annotated[
        int | None,
        typer.Option(help="The maximum number of passes over the data. (default: the recipe's)"),
    ] = None,
    deepspeed: Annotated[
        str | None,
        typer.Option(
            help="none, zero2, or zero2-offload to keep the optimizer off the GPU. (default: the "
            "protocol's, none)"
        ),
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes, one per GPU.")] = 1,
    launcher: Annotated[str, typer.Option(help="torchrun or deepspeed.")] = "torchrun",
    lora: Annotated[
        bool, typer.Option(help="Train low-rank adapters instead of the whole model.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Another setting, as name=value; docs/finetuning.md lists them all."
        ),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="The directory of the task's rows. (default: WORKSPACE/datasets)"),
    ] = None,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Fine-tune language models on tasks and test them; interrupted runs resume."""
    from goldpan.datasets.registry import find_task, tasks_directory
    from goldpan.datasets.task_data import task_directory
    from goldpan.evaluation.models.catalogue import find_model
    from goldpan.evaluation.models.finetuned import NAME
    from goldpan.evaluation.protocol import find_protocol, settings_for
    from goldpan.evaluation.run import run
    from goldpan.evaluation.task_input import read_task_input

    lab = layout_of(workspace, tasks)
    chosen = find_protocol(protocol)
    settings: dict[str, object] = {
        **settings_for(chosen, NAME, {} if deepspeed is None else {"deepspeed": deepspeed}),
        "processes": processes,
        "launcher": launcher,
        "lora": lora,
        "download": download,
    }
    if epochs is not None:
        settings |= {"epochs": epochs, "word_epochs": epochs}
    settings |= dict(_pair(text) for text in setting or ())
    for name, values in (("--task", task), ("--weights", weights)):
        if not values:
            raise UsageError(f"{name} is missing", f"Give {name} one or more times")
    models = [find_model(NAME, {**settings, "weights": weight}) for weight in weights or ()]
    own_tasks = [find_task(name, tasks_directory(lab.root)) for name in task or ()]
    results = []
    with reporting(json) as reporter:
        for known_task in own_tasks:
            read = read_task_input(dataset or task_directory(lab, known_task), known_task)
            for model in models:
                for number in seed or (chosen.seed,):
                    finished = run(
                        lab, read.data, model, chosen, number, reporter, files=read.files
                    )
                    results.append(finished.result)
                    if not json:
                        print_ran(finished)
    if json:
        print_result(json, results, lambda: None)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--set {text!r} has no value", "Write name=value")
    return name, value
