"""A table of a plan's file: typed, and strict about the names of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from goldpan.core.suggest import question

UNKNOWN_KEY = "unknown_key"
"""The type of the error of a key that a section does not know."""


class Section(BaseModel):
    """A table of the file; a key that it does not know is refused with the nearest one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        keys = list(cls.model_fields)
        read: dict[str, Any] = {}
        for key, value in values.items():
            name = str(key).replace("-", "_")
            if name not in keys:
                remedy = question(name, keys) or f"It may hold {', '.join(keys)}"
                raise PydanticCustomError(
                    UNKNOWN_KEY, "the key {key} is unknown", {"key": str(key), "remedy": remedy}
                )
            if name in read:
                raise PydanticCustomError(
                    "key_twice", "the key {key} is given twice", {"key": name, "remedy": ""}
                )
            read[name] = value
        return read
