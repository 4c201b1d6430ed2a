"""The methods of `Workspace`, one module a stage.

Each takes the workspace as ``self`` and imports what it needs when it is called, so that a program
pays only for the stages it uses.
"""
