"""A dataset in the browser: marimo's table of its rows, and a page of each row with its sources.

The server listens on 127.0.0.1 alone and answers only its own pages, which may load nothing from
elsewhere: texts from GitHub hold addresses of pictures, which marimo would show.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from goldpan.audit.stored_audit import StoredAudit, find_audit
from goldpan.core.errors import GoldpanError, UsageError, cause_of
from goldpan.core.imports import load
from goldpan.core.result import Block, Line, blocks_of, count, html_of
from goldpan.core.sanitize import visible
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.lineage.trace import trace
from goldpan.report.html import render

if TYPE_CHECKING:  # the first belongs to an extra
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from goldpan.workspace.dataset import Dataset

_HOST = "127.0.0.1"
_NOTEBOOK = Path(__file__).with_name("rows_notebook.py")
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "object-src 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST_VALUES = 40
"""The most values of a column of texts that marimo counts and draws."""


_FIRST = ("title", "label", "question", "answer", "problem_statement", "path", "patch")
"""Columns that stand first: what people look at. Those with one value alone stand last."""
_LINK = '<a href="/row/{}" target="_blank" style="color: var(--link)">open</a>'


class RowServer:
    """Serves the rows of a dataset on this machine; raises `UsageError` where a port is taken."""

    current: RowServer
    """The server of this process, which the notebook asks for its table."""

    def __init__(self, workspace: WorkspaceLayout, dataset: Dataset, port: int = 0) -> None:
        load("marimo", "goldpan open DATASET")
        self.workspace, self.dataset = workspace, dataset
        self.rows = _read_rows(workspace, dataset)
        try:
            self._socket = socket.create_server((_HOST, port))
        except OSError as error:
            raise UsageError(
                f"Port {port} of this machine cannot be used: {cause_of(error)}",
                "Give another one with --port",
            ) from None
        # asyncio sets this for sockets that name their protocol alone; without it a header waits
        # 40 ms for the file behind it.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = f"{_HOST}:{self._socket.getsockname()[1]}"
        self.address = f"http://{self.host}"
        RowServer.current = self

    def table(self) -> object:
        """Return what marimo shows: a title, and the rows, each with the address of its page."""
        import marimo

        shown, constant = self.rows, []
        for number, name in enumerate(shown.column_names):
            column = shown[name]
            values = pc.count_distinct(column).as_py() if pa.types.is_string(column.type) else None
            if values is not None and values <= _MOST_VALUES:
                shown = shown.set_column(number, name, column.dictionary_encode())
                constant += [name] * (values < 2)
        pages = [
            {"mimetype": "text/html", "data": _LINK.format(number)} for number in range(len(shown))
        ]
        title = escape(f"{self.dataset.path.name}: {count(len(shown), 'row')}")
        first = [name for name in _FIRST if name in shown.column_names]
        others = [name for name in shown.column_names if name not in first]
        others.sort(key=constant.__contains__)
        table = marimo.ui.table(
            shown.select([*first, *others]).add_column(0, "page", pa.array(pages)),
            selection=None,
            page_size=20,
            show_column_summaries=True,
            show_data_types=False,
            freeze_columns_left=["page"],
            column_widths={"page": 60} | dict.fromkeys(first, 240),
        )
        return marimo.vstack([marimo.Html(f"<h1>{title}</h1>"), table])

    def row_page(self, number: int) -> str:
        """Return the page of a row: its columns, then where it comes from."""
        (row,) = self.rows.slice(number, 1).to_pylist()
        name = str(row.get("id", number))
        blocks: Iterable[Block]
        try:
            blocks = blocks_of(trace(self.workspace, name, [self.dataset.path]))
        except GoldpanError as error:
            blocks = [Line(str(error))]
        sources = Markup(visible("".join(map(html_of, blocks))))  # noqa: S704 - html_of escapes
        dataset = self.dataset.path.name
        return render("dataset_row.html.jinja", title=name, dataset=dataset, row=row, lines=sources)

    def serve(self) -> None:
        """Answer until Ctrl-C."""
        import marimo
        import uvicorn
        from starlette.applications import Starlette
        from starlette.responses import HTMLResponse, PlainTextResponse, Response
        from starlette.routing import Route

        def row(request: Any) -> Response:
            number = request.path_params["number"]
            if number >= len(self.rows):
                return PlainTextResponse("There is no such row.", 404)
            return HTMLResponse(self.row_page(number))

        # marimo's page takes 250 small files, which its own server takes a second to send.
        assets = Path(marimo.__file__).parent / "_static" / "assets"
        files = {path.name: path for path in assets.iterdir()}

        async def asset(request: Any) -> Response:
            path = files.get(request.path_params["name"])
            if path is None:
                return PlainTextResponse("There is no such file.", 404)
            headers = {"Cache-Control": "max-age=31536000, immutable"}  # names have hashes
            return Response(path.read_bytes(), headers=headers, media_type=guess_type(path.name)[0])

        builder = marimo.create_asgi_app(quiet=True, include_code=False)
        pages: Any = builder.with_app(path="/", root=str(_NOTEBOOK)).build()
        (notebook,) = pages.routes

        @asynccontextmanager
        async def ending_sessions(_: object) -> AsyncIterator[None]:
            yield
            await notebook.app.state.session_manager.shutdown()  # else their threads go on

        routes = [Route("/row/{number:int}", row), Route("/assets/{name}", asset), notebook]
        application = self._guarded(Starlette(routes=routes, lifespan=ending_sessions))
        config = uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[self._socket])

    def _guarded(self, application: ASGIApp) -> ASGIApp:
        """Return an application that refuses other sites' pages, and adds the policy to its own."""
        from starlette.responses import PlainTextResponse

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def with_policy(message: Message) -> None:
                if message["type"] == "http.response.start":
                    policy = (b"content-security-policy", _POLICY.encode())
                    message["headers"] = [*message["headers"], policy]
                await send(message)

            headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
            is_own = headers.get(b"host") == self.host
            is_own &= headers.get(b"origin", self.address) == self.address
            if scope["type"] == "lifespan" or is_own:
                await application(scope, receive, with_policy)
            else:
                await PlainTextResponse("Not for other sites.", 403)(scope, receive, send)

        return answer


def _read_rows(workspace: WorkspaceLayout, dataset: Dataset) -> pa.Table:
    """Return all rows with their split and, of an audited dataset, a verdict per finding."""
    splits = []
    for name in dataset.splits:
        table = dataset.to_arrow(name)
        if "split" not in table.column_names:
            table = table.add_column(0, "split", pa.repeat(name, len(table)))
        splits.append(table)
    rows = pa.concat_tables(splits)
    audit = find_audit(workspace, dataset.path)
    if isinstance(audit, StoredAudit):
        verdicts = audit.verdicts()
        for name in audit.names:
            of_rows = (verdicts.get(row, {}) for row in rows["id"].to_pylist())
            found = [of_row[name]["verdict"] if name in of_row else None for of_row in of_rows]
            rows = rows.append_column(name, pa.array(found, pa.string()))
    return rows
