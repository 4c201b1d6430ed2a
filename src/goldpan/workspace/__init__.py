"""Goldpan's operations: each is one typed function, from which all its doors are derived.

The command, the method of `Workspace` or `Dataset`, the section of a plan and the reference page
are read off the signature and the docstring (`signature.py`). Operations import what takes long
inside their bodies, so that help is quick.
"""
