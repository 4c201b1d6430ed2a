# /// script
# [tool.marimo.display]
# theme = "system"
# ///
"""The notebook that marimo serves for `goldpan open DATASET`: the table of the rows."""

import marimo

app = marimo.App(width="full", app_title="Goldpan")


@app.cell
def _() -> None:
    from goldpan.workspace.browsing import RowServer

    RowServer.current.table()
