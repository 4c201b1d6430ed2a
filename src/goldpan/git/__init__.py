"""Reads a repository by git: clones, objects, trees, patches."""
