"""Opens the Hugging Face Hub with a client whose token goes to the Hub alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from huggingface_hub import HfApi, constants, set_client_factory
from huggingface_hub.utils._http import default_client_factory
from huggingface_hub.utils.tqdm import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from goldpan.core.secrets import mask, register


def endpoint() -> str:
    """Return the Hub's address: `HF_ENDPOINT`, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def open_hub(token: str | None) -> HfApi:
    """Return the Hub that `HF_ENDPOINT` names, which alone is sent the token.

    Its listings, uploads and redirects name addresses that are asked next: those elsewhere get no
    secret.
    """
    register(token)
    origin = httpx2.URL(endpoint()).origin

    def keep_home(request: httpx2.Request) -> None:
        if request.url.origin != origin:
            for name, value in request.headers.items():
                if mask(value) != value:
                    del request.headers[name]

    def factory() -> httpx2.Client:
        client: httpx2.Client = default_client_factory()
        client.event_hooks["request"].append(keep_home)
        return client

    set_client_factory(factory)
    return HfApi(endpoint=endpoint(), token=token or False)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the Hub's client silent: its bars disturb ours, its logs have signed addresses."""
    loggers = [logging.getLogger(name) for name in ("huggingface_hub", "httpx2", "httpcore2")]
    levels = [logger.level for logger in loggers]
    bars = not are_progress_bars_disabled() and constants.HF_HUB_DISABLE_PROGRESS_BARS is None
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    if bars:
        disable_progress_bars()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            enable_progress_bars()
