"""What plugins may use to read, to make and to write rows; the stub beside this file lists it."""

from goldpan.core.imports import lazily

__getattr__ = lazily(globals())
