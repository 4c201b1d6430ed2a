"""The means of commands for plugins; the stub beside lists the names."""

from goldpan.core.imports import lazily

__getattr__, __dir__ = lazily(globals())
