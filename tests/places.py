"""Where the project and the real data lie."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("GOLDPAN_REAL_DATA") or ROOT.parent / "shared" / "data")
