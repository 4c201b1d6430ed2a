"""Judges issues and fix pairs, one small file a criterion; nothing is deleted, only judged."""
