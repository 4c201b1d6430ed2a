"""Write the snapshots anew."""

from __future__ import annotations

from tests.snapshots.render import FOLDER, SNAPSHOTS

for name, render in SNAPSHOTS.items():
    (FOLDER / name).write_text(render(), encoding="utf-8")
