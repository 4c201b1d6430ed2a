"""What plugins may use of `goldpan.git`; the stub beside this file lists it."""

from goldpan.core.imports import lazily

__getattr__ = lazily(globals())
