"""Keeps foreign code from the rest of the machine: bubblewrap, or a container engine.

Code out of a repository's history is hostile until proved otherwise. It sees a file system of its
own, no variable of ours, no home directory, and no network while tests run; time, memory and
processes are bounded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal
from uuid import uuid4

from goldpan.execution.command import (
    HOME,
    MOST_FILE,
    TESTBED,
    CommandLimits,
    Exceeded,
    Finished,
    IsolationError,
    SandboxCommand,
    below_limits,
    environment_of,
    run_limited,
)

_REPLY_SECONDS = 60
_PULL_SECONDS = 1_800
_EXCEEDED: Mapping[int, Exceeded] = {201: "memory", 202: "processes"}
"""Statuses with which a command ends whose control group counted that it wanted more."""
_BOUNDED = f"""
mkdir -p "$HOME" 2> /dev/null; ulimit -c 0; ulimit -f {MOST_FILE // 512}
"$@"
code=$?
cd /sys/fs/cgroup || exit $code
for file in memory.events memory/memory.oom_control pids.events pids/pids.events; do
  [ -r $file ] && while read -r name count; do
    [ "$name:$count" = oom_kill:0 ] || [ "$name:$count" = max:0 ] && continue
    case $file:$name in *:oom_kill) exit 201;; pids*:max) exit 202;; esac
  done < $file
done
exit $code
"""
_CHECK = """
cd /sys/fs/cgroup && for file in memory.max memory/memory.limit_in_bytes; do
  [ -r $file ] && read -r limit < $file && echo "memory $limit"
done
touch /testbed/a && echo ready
"""
_LACKING = 'for name do command -v "$name" > /dev/null || echo "$name"; done'


@dataclass(frozen=True, slots=True)
class Isolation(ABC):
    """Runs commands so that they reach nothing but what they are given."""

    name: str
    """The name of the engine, for records."""

    is_own_system: ClassVar[bool] = True
    """True where commands run this machine's programs, not those of an image."""

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return TESTBED

    def lacking(self, programs: Sequence[str]) -> tuple[str, ...]:
        """Return which of these programs are not installed where commands run."""
        return tuple(name for name in programs if shutil.which(name) is None)

    @abstractmethod
    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command to its end, appending what it prints to `log`, 64 MiB at most."""

    def printed_lines(
        self,
        arguments: Sequence[str],
        limits: CommandLimits,
        readable: Sequence[Path] = (),
        *,
        lenient: bool = False,
    ) -> list[str]:
        """Return the lines that a command of ours prints where foreign code runs.

        With `lenient` an engine that did not begin it is no error, and its reasons are among them.
        """
        with tempfile.TemporaryDirectory(prefix="goldpan-") as folder:
            log, testbed = Path(folder, "log"), Path(folder, "testbed")
            testbed.mkdir()
            log.touch()
            with suppress(IsolationError) if lenient else nullcontext():
                self.run(SandboxCommand(arguments, testbed, (), readable), limits, log)
            return log.read_text("utf-8", "replace").rstrip("\n").split("\n")


@dataclass(frozen=True, slots=True)
class Container(Isolation):
    """A container engine that has docker's command line.

    Programs, libraries and interpreters are the image's; of this machine a command sees only the
    directories that it is given.
    """

    image: str
    is_own_system: ClassVar[bool] = False

    def lacking(self, programs: Sequence[str]) -> tuple[str, ...]:
        """Return which of these programs the image does not have."""
        if not programs:
            return ()
        script = ["/bin/sh", "-c", _LACKING, "sh", *programs]
        names = self.printed_lines(script, CommandLimits(_REPLY_SECONDS), lenient=True)
        return tuple(name for name in programs if name in names)

    def check(self) -> None:
        """Raise `IsolationError` where a container cannot run, write to a folder or be bounded.

        The engine fetches the image where it has to.
        """
        limits = CommandLimits(_PULL_SECONDS)
        lines = self.printed_lines(["/bin/sh", "-c", _CHECK], limits, lenient=True)
        if "ready" not in lines:
            raise IsolationError(
                f"{self.name} cannot run the image {self.image}: {_end_of(lines)}",
                f"See whether {self.name} run --rm {self.image} /bin/sh -c true works",
            )
        if f"memory {limits.memory}" not in lines:
            raise IsolationError(
                f"{self.name} does not limit the memory of containers here",
                "Run it as root, or where the kernel has control groups of version 2; or give "
                "--isolation bubblewrap",
            )

    @property
    def image_id(self) -> str:
        """The digest of the image that its name stands for now."""
        return self._ask("image", "inspect", "--format", "{{.Id}}", self.image)

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command in a container that vanishes with it.

        Raises `IsolationError` where the engine did not begin it.
        """
        label = f"goldpan-{uuid4().hex}"
        network = "bridge" if command.network else "none"
        memory = str(limits.memory)
        arguments = [
            *(self.name, "run", "--name", label, "--label", "goldpan", "--log-driver", "none"),
            *("--init", "--stop-timeout", "0", "--network", network, "--read-only"),
            *("--memory", memory, "--memory-swap", memory),
            *("--pids-limit", str(limits.processes)),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            # Elsewhere SELinux hides the folders, which must not get labels of their own.
            *("--security-opt", "label=disable"),
            *("--tmpfs", "/tmp:exec", "--workdir", TESTBED),  # noqa: S108 - inside the container
            *("--user", f"{os.getuid()}:{os.getgid()}"),
            *(("--userns", "keep-id") if self.name == "podman" and os.getuid() else ()),
            *("--volume", f"{command.testbed}:{TESTBED}"),
        ]
        for readable in command.readable:
            arguments += ["--volume", f"{readable}:{readable}:ro"]
        for writable in command.writable:
            arguments += ["--volume", f"{writable}:{writable}"]
        # The image knows where its programs are. The engine's own PATH and HOME are others; the
        # rest, which may be secret, it passes on.
        variables, own = environment_of(command), engine_variables()
        if "PATH" not in command.environment:
            del variables["PATH"]
        for name, value in variables.items():
            arguments += ["--env", f"{name}={value}" if name in own else name]
        try:
            # Where memory lacked, Podman's monitor leaves a file in the folder that it began in.
            with tempfile.TemporaryDirectory(prefix="goldpan-") as folder:
                finished = run_limited(
                    [*arguments, self.image, "/bin/sh", "-c", _BOUNDED, "sh", *command.arguments],
                    command,
                    limits,
                    log,
                    environment={**variables, **own},
                    directory=Path(folder),
                )
            return finished if finished.exceeded else self._check_ran(label, finished, log)
        finally:
            self._ask("rm", "--force", label)

    def _check_ran(self, label: str, finished: Finished, log: Path) -> Finished:
        """Return how a command ended; raises `IsolationError` where the engine did not begin it."""
        status = self._ask("inspect", "--format", "{{.State.Status}}", label)
        if status not in ("exited", "stopped", "dead", "removing"):
            lines = log.read_text("utf-8", "replace").split("\n")
            raise IsolationError(
                f"{self.name} did not begin a container of {self.image}: {_end_of(lines)}",
                f"See whether {self.name} run --rm {self.image} /bin/sh -c true works",
            )
        return Finished(finished.code, _EXCEEDED.get(finished.code))

    def _ask(self, *arguments: str) -> str:
        """Return the engine's answer, nothing where it has none."""
        return _answer([self.name, *arguments], _REPLY_SECONDS) or ""


@lru_cache(maxsize=8)
def checked_container(engine: str, image: str) -> Container:
    """Return the containers of an image, once one of them has run; raises `IsolationError`."""
    container = Container(engine, image)
    container.check()
    return container


def engine_variables() -> dict[str, str]:
    """Return the variables by which an engine's program finds its settings and its daemon."""
    variables = (
        "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_HOST", "DOCKER_CONFIG",
        "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINERS_CONF",
    )  # fmt: skip
    return {name: os.environ[name] for name in variables if name in os.environ}


def _end_of(lines: Sequence[str]) -> str:
    return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "no reply")


# Keeps foreign code apart by namespaces of the Linux kernel, without a daemon.

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_HOSTS = b"127.0.0.1 localhost\n::1 localhost\n"
"""The names without a network: servers of tests, and Vitest's own, listen on localhost."""


def _system_binds() -> list[str]:
    """Return the arguments that show programs and libraries, links as links."""
    binds: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            binds += ["--ro-bind", str(path), str(path)]
    return binds


BARE = (
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    *_system_binds(),
)


@dataclass(frozen=True, slots=True)
class Bubblewrap(Isolation):
    """Namespaces of the Linux kernel, without a daemon."""

    name: str = "bubblewrap"

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command in namespaces of its own; limits are those of its processes."""
        shown = [*_SETTINGS, *(_NETWORK if command.network else ())]
        size = ("--size", str(limits.memory)) if _sizes_memory_disks() else ()
        arguments = [
            shutil.which("bwrap") or "bwrap",
            *BARE,
            *(("--share-net",) if command.network else ()),
            *("--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "testbed"),
            *(*size, "--tmpfs", "/tmp", "--dir", HOME),  # noqa: S108 - inside the namespace
            *(*size, "--tmpfs", "/dev/shm"),  # noqa: S108 - inside the namespace
        ]
        for path in shown:
            arguments += ["--ro-bind-try", os.path.realpath(path), path]
        for readable in command.readable:
            arguments += ["--ro-bind", str(readable), str(readable)]
        for writable in command.writable:
            arguments += ["--bind", str(writable), str(writable)]
        arguments += ["--bind", str(command.testbed), TESTBED, "--chdir", TESTBED]
        limited = below_limits(command, limits, own_users=True)
        with tempfile.NamedTemporaryFile(prefix="goldpan-") as hosts:
            if not command.network:
                hosts.write(_HOSTS)
                hosts.flush()
                arguments += ["--ro-bind", hosts.name, "/etc/hosts"]
            # The rest is in memory, too, which nothing bounds.
            arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--", *limited]
            # Variables travel here and not as arguments, which every user of the machine can list.
            variables = environment_of(command)
            return run_limited(arguments, command, limits, log, environment=variables)


@lru_cache(maxsize=1)
def _sizes_memory_disks() -> bool:
    """Return whether this bubblewrap bounds file systems in memory, as those since 0.5 do."""
    output = subprocess.run(["bwrap", "--help"], capture_output=True, check=False)  # noqa: S607
    return b"--size" in output.stdout + output.stderr


IsolationName = Literal["auto", "docker", "podman", "bubblewrap", "none"]
_ANSWER_SECONDS = 20


def find_isolation(name: IsolationName = "auto", image: str = "") -> Isolation:
    """Return an engine that works on this machine, by name or the first of them.

    `image` is the container engines' image. Raises `IsolationError` where none works; `none`, no
    isolation at all, has to be named.
    """
    if name == "none":
        return NoIsolation()
    if name in ("docker", "podman") and not image:
        raise IsolationError(
            f"{name} needs an image that has what the repository's tests need",
            "Give one with --image, such as docker.io/library/python:3.13",
        )
    # Which image has the repository's language, only its user knows.
    automatic = ("docker", "podman", "bubblewrap") if image else ("bubblewrap",)
    tried = []
    for engine in automatic if name == "auto" else (name,):
        is_container = engine != "bubblewrap"
        probe = [engine, "info"] if is_container else ["bwrap", *BARE, "--", "/bin/sh", "-c", ":"]
        if _answer(probe, _ANSWER_SECONDS) is not None:
            return checked_container(engine, image) if is_container else Bubblewrap()
        tried.append(probe[0])
    raise IsolationError(
        f"Nothing on this machine can isolate the code of repositories: {' and '.join(tried)} "
        f"{'do' if len(tried) > 1 else 'does'} not work",
        "Install bubblewrap (a package of most Linux distributions), give --isolation docker "
        "--image IMAGE, or take the risk with --isolation none",
    )


def _answer(command: Sequence[str], seconds: float) -> str | None:
    """Return what an engine's program prints, None where it fails."""
    try:
        process = subprocess.run(  # noqa: S603 - an engine with our own arguments
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env=engine_variables(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None


@dataclass(frozen=True, slots=True)
class NoIsolation(Isolation):
    """Runs foreign code as its user: for code that one trusts, or within a virtual machine."""

    name: str = "none"

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return str(directory)

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command as any other, bounded in time and memory."""
        return run_limited(
            below_limits(command, limits, own_users=False),
            command,
            limits,
            log,
            environment=environment_of(command),
            directory=command.testbed,
        )
