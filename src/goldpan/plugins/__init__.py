"""The door: what a plugin is made of, and `register`, which takes it in.

    from goldpan.plugins import Criterion, register

    register(Criterion(name="has-code", ...))

`docs/plugins.md` shows one of each kind. What else a plugin needs of Goldpan is in the modules of
this package: `data` to read, make and write rows, `evaluation` for models, metrics, reports and
papers' tables, `operations` for commands. A name is imported when it is first used, so that
registering costs next to nothing.
"""

from goldpan.core.imports import lazily

__getattr__, __dir__ = lazily(globals())
