"""What the authors of some fixed bugs wrote at length, and what they were told."""

from __future__ import annotations

from collections.abc import Mapping

REPORTS: Mapping[str, tuple[str, str]] = {
    "Reader drops the last line without a newline": (
        """\
`reader.lines()` swallows the last line of a file that does not end with a newline. Our scales
write such files: each weighing puts the newline *before* its record.

```python
>>> import io
>>> from sluice import reader
>>> list(reader.lines(io.StringIO("12.5\\n13.1\\n9.8")))
['12.5', '13.1']
```

I expected three records. One record less in every file is hard to notice. Seen with sluice 0.3
and Python 3.11.
""",
        """\
Thanks, I can reproduce this. `lines()` reads a block at a time and keeps what follows the last
newline in `rest`, in case the next block goes on with it. After the last block nobody looks at
`rest` again, so what is left there has to come out behind the loop.

Until that is released, append a newline to such a file before you read it.
""",
    ),
    "`sieve()` ignores its second predicate": (
        """\
With two predicates, only the first one counts:

```python
import sluice.sieve

heavy = lambda row: row["grams"] > 2
north = lambda row: row["bank"] == "north"
list(sluice.sieve.sieve(rows, heavy, north))  # heavy rows of both banks
list(sluice.sieve.sieve(rows, north, heavy))  # light rows of the north bank, too
```

The docstring says "Yield the rows that *all* predicates want". Seen with sluice 0.3.
""",
        """\
The docstring is right and the code is not: the `break` at the end of the inner loop leaves it
after the first predicate, whatever that said. It was meant to stop at the first *refusal*.

As a workaround, give one predicate that asks both: `lambda row: heavy(row) and north(row)`.
""",
    ),
    "Crash on an empty stream": (
        """\
A station that was switched off sends an empty file, and the nightly job dies of it.

```
Traceback (most recent call last):
  File "/srv/creek/sluice/reader.py", line 26, in table
    names = next(found).split(",")
            ^^^^^^^^^^^
StopIteration

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/creek/nightly.py", line 12, in <module>
    for row in reader.table(stream):
RuntimeError: generator raised StopIteration
```

I would expect a table without rows, as for a file that holds the header alone.
""",
        """\
Agreed, no header means no rows. `next()` without a default raises `StopIteration` when there is
nothing to come, and inside of a generator Python turns that into the `RuntimeError` that you see
(PEP 479). It should ask with a default and return when it gets that.
""",
    ),
    "Time zones are lost in `to_parquet`": (
        """\
Times that carry a zone come out of Parquet at another moment:

```python
from datetime import datetime
from sluice.parquet import prepared

noon = datetime.fromisoformat("2023-01-01T12:00:00+02:00")
prepared(noon)  # datetime(2023, 1, 1, 12, 0, tzinfo=timezone.utc)
```

Noon in Helsinki is ten o'clock in UTC, not noon.

- sluice 0.3, Python 3.9 and 3.11
- the same for `-07:00`, where it is off by seven hours
""",
        """\
`prepared()` *replaces* the zone by UTC, which leaves the clock as it was and so changes the
moment. `astimezone()` converts instead. For times without any zone that takes the machine's own
one, so set it explicitly if your stations send naive times.
""",
    ),
}
"""Report and answer by the issue's title."""
