"""What Goldpan does for a user: `Workspace` and `Dataset`, whose methods are the commands, too.

Methods import what takes long inside their bodies, so that help is quick.
"""
