"""`make chaos`: every stage killed, on full disks, two at once, with wrong clocks and damage.

What may come of it: the bytes that come undisturbed, or an error that names the file.
"""
