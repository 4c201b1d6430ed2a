"""Serve a twin until killed, for trials by hand and for benchmarks in another process."""

from __future__ import annotations

import argparse
import sys

from . import Fault, Faults, Twin, World, load_backup, mills_world, synthetic_world, workload_world

_SHOWN = 5
"""Names of repositories that are printed."""


def main() -> None:
    """Read arguments, print the URL, serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.twin", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--synthetic", action="store_true", help="prospector/sluice (the default)")
    source.add_argument("--workload", type=int, metavar="N", help="N issues and N pull requests")
    source.add_argument("--mills", type=int, metavar="N", help="N small repositories")
    source.add_argument("--backup", metavar="FILE", help="a backup of a real repository")
    parser.add_argument("--repo", metavar="OWNER/NAME", help="the name of the backed-up repository")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fail-rate", type=float, default=0.0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    options = parser.parse_args()
    if bool(options.backup) != bool(options.repo):
        parser.error("--backup and --repo go together")
    late = [Fault("late", wait=options.latency)] if options.latency else []
    faults = Faults(rate=options.fail_rate, chosen=late)
    with Twin(_world(options), faults, port=options.port) as twin:
        names = [repository.full_name for repository in twin.world.repositories]
        sys.stdout.write(
            f"{twin.url}\n"
            f"Serves {', '.join(names[:_SHOWN])}{' and more' if len(names) > _SHOWN else ''}. In "
            "another terminal:\n"
            f"  GITHUB_TOKEN=any goldpan mine --repo {names[0]} --api-url {twin.url}\n"
        )
        sys.stdout.flush()
        try:
            twin.wait()
        except KeyboardInterrupt:
            sys.stdout.write(f"{twin.count} requests, {twin.points} points\n")


def _world(options: argparse.Namespace) -> World:
    if options.backup:
        return load_backup(options.backup, options.repo)
    if options.mills is not None:
        return mills_world(options.mills)
    if options.workload is not None:
        return workload_world(options.workload, options.workload)
    return synthetic_world()


main()
