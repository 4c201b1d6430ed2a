"""Runs a command whose only network is the proxy behind a Unix socket.

Where the command runs, no network leads anywhere; programs cannot be told to use a Unix socket, so
this listens on 127.0.0.1 in its place. It runs on the isolated side, on whatever Python an image
has, 3.6 at the earliest, and imports nothing of Goldpan.
"""

import asyncio
import os
import socket
import sys


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # noqa: D103
    try:
        content = await reader.read(1 << 16)
        while content:
            writer.write(content)
            await writer.drain()
            content = await reader.read(1 << 16)
        writer.write_eof()
    except OSError:
        writer.close()


async def serve(listener: socket.socket, path: str) -> None:  # noqa: D103
    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            proxy_reader, proxy_writer = await asyncio.open_unix_connection(path)
            await asyncio.gather(copy(reader, proxy_writer), copy(proxy_reader, writer))
            proxy_writer.close()
        finally:
            writer.close()

    await asyncio.start_server(forward, sock=listener)
    await asyncio.Event().wait()


def variables(port: int) -> "dict[str, str]":  # noqa: D103
    address = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    values = {form: address for name in names for form in (name, name.lower())}
    java = [
        f"-D{scheme}.proxy{name}={value}"
        for scheme in ("http", "https")
        for name, value in (("Host", "127.0.0.1"), ("Port", port))
    ]
    # By default Java does not ask a proxy for an index on 127.0.0.1, nor Maven 3.9 at all.
    java += ["-Dhttp.nonProxyHosts=", "-Daether.connector.http.useSystemProperties=true"]
    values["JAVA_TOOL_OPTIONS"] = " ".join((os.environ.get("JAVA_TOOL_OPTIONS", ""), *java)).strip()
    return values


def main() -> None:  # noqa: D103
    path, command = sys.argv[1], sys.argv[2:]
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    if os.fork() == 0:
        asyncio.new_event_loop().run_until_complete(serve(listener, path))
    os.environ.update(variables(listener.getsockname()[1]))
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
