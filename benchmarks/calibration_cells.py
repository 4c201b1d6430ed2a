"""The settings of the null simulations, grouped by what makes them hard."""

from __future__ import annotations

from itertools import product

from benchmarks.null_models import Cell

_SHARES = ((0.9, 0.1), (0.9, 0.05, 0.05), (0.4, 0.3, 0.2, 0.1))

NULLS: dict[str, list[Cell]] = {
    "2 models, independent rows": [
        Cell(tasks, rows, seeds, 2, flip)
        for tasks, rows, (seeds, flip) in product(
            (1, 2, 3, 5, 9, 17),
            (50, 200, 1000),
            ((1, 0.0), (1, 0.1), (2, 0.2), (5, 0.1), (10, 0.2)),
        )
    ],
    "5 and 10 models": [
        Cell(tasks, 200, seeds, models, 0.1)
        for tasks, models, seeds in product((1, 3, 17), (5, 10), (1, 3))
    ],
    "documents that hang together": [
        Cell(tasks, 200, seeds, models, 0.1, documents=documents)
        for tasks, documents, seeds, models in product((1, 3), (5, 10, 40), (1, 3), (2, 10))
    ],
    "classes of unequal size": [
        Cell(tasks, rows, 2, models, 0.1, shares=shares)
        for tasks, rows, shares, models in product((1, 3), (50, 200), _SHARES, (2, 10))
    ],
    "seeds that shift the whole model": [
        Cell(tasks, 200, seeds, models, 0.1, seed_sd=0.2)
        for tasks, seeds, models in product((1, 5), (2, 5), (2, 5))
    ],
    "one training for several tasks": [
        Cell(tasks, 200, seeds, models, 0.1, seed_sd=spread, shared=True)
        for tasks, seeds, models, spread in product((5, 10, 17), (2, 3, 5), (2, 3, 10), (0.2, 0.5))
    ],
    "models that err in opposite directions": [
        Cell(1, rows, 1, models, 0.1, lopsided=True)
        for rows, models in product((50, 200, 1000), (2, 4))
    ],
    "documents that matter to every other model alone": [
        Cell(tasks, 200, 1, models, 0.1, documents=documents, uneven=True)
        for tasks, documents, models in product((1, 3), (10, 40), (2, 10))
    ],
    "several hard settings at once": [
        *(
            Cell(17, 50, seeds, models, 0.2, documents=6)
            for seeds, models in product((1, 10), (2, 10))
        ),
        *(
            Cell(1, 1000, seeds, models, 0.2, seed_sd=0.5)
            for seeds, models in product((2, 5), (2, 10))
        ),
        *(Cell(tasks, 50, 10, 10, 0.2) for tasks in (1, 3)),
        *(Cell(tasks, 50, 10, 10, 0.2, documents=10, shares=_SHARES[1]) for tasks in (1, 3)),
    ],
}
"""Cells on new rows in which no model is better."""

TASKS: dict[str, list[Cell]] = {
    f"{models} models": [
        Cell(tasks, rows, 2, models, 0.1, task_sd=spread)
        for tasks, spread, rows in product((3, 5, 9, 17), (0.0, 0.2, 0.5), (50, 200))
    ]
    for models in (2, 10)
} | {
    "one training for several tasks": [
        Cell(tasks, 200, seeds, models, 0.1, seed_sd=spread, shared=True, task_sd=0.2)
        for tasks, seeds, models, spread in product((5, 10, 17), (2, 3, 5), (2, 3, 10), (0.2, 0.5))
    ]
}
"""Cells on new tasks: models are equal over all tasks, yet not on each."""

POWER: list[Cell] = [
    Cell(tasks, rows, 3, 2, 0.1, gain=gain, task_sd=0.2)
    for gain, tasks, rows in product((0.05, 0.1, 0.15), (1, 3, 9, 17), (50, 200, 1000))
] + [
    cell
    for gain, tasks in product((0.1, 0.15), (3, 17))
    for cell in (
        Cell(tasks, 200, 3, 10, 0.1, gain=gain, task_sd=0.2),
        Cell(tasks, 200, 3, 2, 0.1, gain=gain, task_sd=0.2, documents=20),
        Cell(tasks, 200, 3, 2, 0.1, gain=gain, task_sd=0.2, seed_sd=0.2, shared=True),
        Cell(tasks, 200, 10, 2, 0.1, gain=gain, task_sd=0.2, seed_sd=0.2, shared=True),
    )
]
"""Cells in which the first model is better."""

NAMED: list[Cell] = [
    Cell(3, 200, 5, 2, 0.1),
    Cell(9, 200, 1, 2, 0.1),
    Cell(9, 200, 1, 10, 0.1),
    Cell(17, 200, 1, 2, 0.1),
    Cell(17, 200, 1, 10, 0.1),
    Cell(1, 200, 1, 2, 0.1, documents=10),
]
"""Cells in which the methods chosen by name decide of equal models."""
