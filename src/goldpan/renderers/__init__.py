"""What people see of results: a module for each room of `goldpan`, a function for each type.

How a result is written, in a room such as ``goldpan/miners/``:

1. The type is a frozen dataclass that derives from `goldpan.core.result.Result` and holds data
   only. `json_data` makes its JSON of the fields, by their names. A property that JSON needs too is
   named in `shown_in_json`; a field that JSON leaves out is ``field(metadata=NOT_IN_JSON)``.
2. What people see stands in ``goldpan/renderers/miners.py``: a function that yields blocks (`Line`,
   `Title`, `Table`). No room imports that module; `blocks_of` finds it by the type's module::

       @renders(PairResult)
       def _paired(result: PairResult) -> Iterator[Block]:
           yield Title(result.repo, f": {count(result.pairs, 'fix pair')}")

3. Several results of a type are `Results(items, notes)`. People see one after the other, or what a
   function with ``@renders(list[PairResult])`` yields of all, and then the notes.
4. A plugin's and a paper's functions stand beside their types. Without any, people see the fields.
5. Where JSON changes, raise the type's `schema` and run `python -m tests.operation_calls`.
"""
