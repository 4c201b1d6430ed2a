"""What plugins may use of models, metrics, reports and papers' tables; the stub beside lists it."""

from goldpan.core.imports import lazily

__getattr__ = lazily(globals())
