"""Annotation by people in Label Studio: push, pull, status, adjudicate, serve."""
