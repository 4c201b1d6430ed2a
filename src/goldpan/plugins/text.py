"""What plugins may use of `goldpan.text`; the stub beside this file lists it."""

from goldpan.core.imports import lazily

__getattr__ = lazily(globals())
