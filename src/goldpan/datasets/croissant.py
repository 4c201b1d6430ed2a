"""Croissant metadata (MLCommons, version 1.1) as JSON-LD, by which other tools load the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa

from goldpan.datasets.family import Column
from goldpan.datasets.licenses import spdx
from goldpan.datasets.manifest import DatasetRecord, LabelStatement, WrittenSplit

CROISSANT = "croissant.json"
_PARQUET = "application/x-parquet"
_VERSION = "http://mlcommons.org/croissant/1.1"
_RESPONSIBLE = "http://mlcommons.org/croissant/RAI/1.0"
_TYPES = {
    pa.string(): "sc:Text",
    pa.int32(): "cr:Int32",
    pa.int64(): "cr:Int64",
    pa.float64(): "cr:Float64",
    pa.bool_(): "sc:Boolean",
}
_PLAIN_TERMS = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileObject "
    "fileProperty fileSet format includes isArray isLiveDataset jsonPath key md5 parentField "
    "path recordSet references regex repeated replace samplingRate separator source subField "
    "transform"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _PLAIN_TERMS.split()},
}


def write_croissant(record: DatasetRecord) -> None:
    """Write the croissant.json of a dataset into its directory."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    data = orjson.dumps(croissant(record), option=options)
    (record.written.directory / CROISSANT).write_bytes(data)


def croissant(record: DatasetRecord) -> dict[str, Any]:
    """Return the metadata: files with hashes, a record set a split, and the label statement."""
    written, card, family = record.written, record.card, record.written.family
    licenses = {spdx(origin.license) for origin in written.origins}
    pages = {f"https://spdx.org/licenses/{name}.html" if name else "not known" for name in licenses}
    labels, until = record.labels, record.mined_until
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [_VERSION, _RESPONSIBLE] if labels else _VERSION,
        "name": record.title,
        "description": card.summary or family.task,
        "version": "1.0.0",
        "license": sorted(pages),
        "inLanguage": list(card.languages),
        "keywords": sorted({"github", *family.tags, *card.tags}),
        "citeAs": family.citation,
        **(_responsible(labels) if labels else {}),
        **({"datePublished": until.date().isoformat()} if until else {}),
        "distribution": [
            *(
                {
                    "@type": "cr:FileObject",
                    "@id": file.path,
                    "name": file.path,
                    "contentUrl": file.path,
                    "contentSize": f"{file.size} B",
                    "encodingFormat": _PARQUET,
                    "sha256": file.sha256,
                }
                for file in written.files
            ),
            *(
                {
                    "@type": "cr:FileSet",
                    "@id": _files_id(split),
                    "name": _files_id(split),
                    "encodingFormat": _PARQUET,
                    "includes": split.pattern,
                }
                for split in written.splits
            ),
        ],
        "recordSet": [_records(split, family.columns) for split in written.splits],
    }


def _records(split: WrittenSplit, columns: Iterable[Column]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": split.name,
        "name": split.name,
        "description": f"The examples of the split {split.name}.",
        "key": {"@id": f"{split.name}/id"},
        "field": [_field(split, column) for column in columns],
    }


def _responsible(labels: LabelStatement) -> dict[str, list[str]]:
    """Return the statement in the terms of Croissant's vocabulary on responsible use."""
    stated = {
        "dataAnnotationProtocol": labels.made,
        "dataAnnotationAnalysis": labels.accuracy,
        "dataCollectionMissingData": labels.held,
        "dataLimitations": labels.stated_licenses,
    }
    return {f"rai:{term}": [sentence] for term, sentence in stated.items() if sentence}


def _files_id(split: WrittenSplit) -> str:
    return f"{split.name}-files"


def _field(split: WrittenSplit, column: Column) -> dict[str, Any]:
    place = f"{split.name}/{column.name}"
    source = {"fileSet": {"@id": _files_id(split)}, "extract": {"column": column.name}}
    field = _named(place, column.name, column.description)
    kind = column.kind
    if pa.types.is_list(kind):
        field |= {"isArray": True, "arrayShape": "-1"}
        kind = kind.value_type
    if not pa.types.is_struct(kind):
        return {**field, "dataType": _type(kind), "source": source}
    parts = [
        {
            **_named(f"{place}/{part.name}", part.name, column.parts[part.name]),
            "dataType": _type(part.type),
            "source": {**source, "transform": {"jsonPath": part.name}},
        }
        for part in kind
    ]
    return {**field, "subField": parts}


def _named(place: str, name: str, description: str) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": place, "name": name, "description": description}


def _type(kind: pa.DataType) -> str:
    return "sc:DateTime" if pa.types.is_timestamp(kind) else _TYPES[kind]
