"""Installs environments of tests and prepares Label Studio's database, beside the tests.

`python -m tests.ahead FOLDER...`, each below pytest's cache.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from goldpan.annotation.studio.serve import SERVER
from goldpan.core.errors import GoldpanError
from tests.installing import FOLDERS, install
from tests.studio import prepare_once

if __name__ == "__main__":
    for argument in sys.argv[1:]:
        above = Path(argument)
        environment = FOLDERS[above.name]
        with suppress(GoldpanError):
            folder = install(environment, above)
            if environment is SERVER:
                prepare_once(folder, above)
