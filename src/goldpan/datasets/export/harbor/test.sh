#!/bin/sh
exec python /tests/score.py
