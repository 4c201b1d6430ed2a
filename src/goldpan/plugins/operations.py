"""What plugins may use for commands; the stub beside this file lists it."""

from goldpan.core.imports import lazily

__getattr__ = lazily(globals())
