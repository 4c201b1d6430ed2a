"""``python -m tests.chaos``: disturb everything, and print what came of it as a table."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

_MARK = "GOLDPAN_CHAOS_MOUNTS"
_APART = ("unshare", "--map-root-user", "--mount")


def main() -> None:
    """Read arguments and run the campaign, where possible with mounts of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", action="append", metavar="KIND", help="kill, full, two, clock, flip"
    )
    parser.add_argument("--stage", action="append", metavar="NAME", help="only this stage")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--levels", type=int, default=5, help="how many fill levels of the disk")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-mounts", action="store_true", help="limit the size of files instead")
    options = parser.parse_args()
    if _MARK not in os.environ and not options.no_mounts and _may_mount():
        os.environ[_MARK] = "1"
        program = shutil.which("unshare")
        assert program is not None
        os.execv(program, [*_APART, sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    from tests.chaos.campaign import Campaign
    from tests.chaos.full import LEVELS
    from tests.shared_folder import shared_folder

    campaign = Campaign(
        options.minutes,
        options.seed,
        tuple(options.only or ()),
        tuple(options.stage or ()),
        options.kills,
        options.flips,
        options.processes,
        LEVELS[: options.levels],
    )
    with shared_folder():
        forbidden = campaign.run()
    sys.exit(1 if forbidden else 0)


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    script = "mount -t tmpfs -o size=64k tmpfs /tmp"
    done = subprocess.run([*_APART, "sh", "-c", script], capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    main()
