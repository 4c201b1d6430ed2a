"""The card of a dataset: README.md with the Hub's YAML in front.

Names, licenses and the like come from GitHub, so whatever the template prints is escaped for
Markdown and HTML unless it is marked as raw.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import copy2, copytree
from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from goldpan._version import __version__
from goldpan.core.proportions import wilson
from goldpan.core.sanitize import CUT, for_json, visible
from goldpan.core.storage.parquet import open_file
from goldpan.core.storage.sealed import file_digest, sealed_json
from goldpan.core.storage.workspace import replacing, write_whole
from goldpan.datasets.examples import EDITED_SINCE
from goldpan.datasets.licenses import OTHER, bibtex_problem, hub_licenses
from goldpan.datasets.manifest import DatasetRecord, Origin, Written
from goldpan.datasets.provenance import PROVENANCE, read_provenance
from goldpan.miners.journal_state import STATED

CARD = "README.md"
FINDINGS_PAGE = "findings.md"
"""The page with an audit's findings and their evidence."""
_AUDITED = re.compile(r"^Of [\d,]+ rows, [^\n]* says why a row is good\.\n\n", re.M)
_AFTER_AUDITED = re.compile(r"^(?:Labels: |## Use$)", re.M)
_SPECIAL = re.compile(r"[\\`*_\[\]#|~$<>&@]|:(?=//)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", ":": "&#58;"}
_MOST_ORIGINS = 200
_UNCITED = re.compile(r"[^\w .,/:+()'-]|:(?=//)")
"""Characters left out of a title in BibTeX, where it could command LaTeX or Markdown."""
_LONGEST_SAMPLE = 300  # characters of a text in the sample row
_MOST_SAMPLED = 3  # items of a list there
_KINDS = {
    "string": "text",
    "int32": "integer",
    "int64": "integer",
    "double": "number",
    "bool": "yes or no",
}
_LOAD = 'dataset = load_dataset("DIRECTORY")  # the one with this file'
_NOTE = "  note = "
_MINED_BY = {
    frozenset({False}): "mined the repositories from GitHub, kept every reply as it came",
    frozenset({True}): "read backups of the repositories, kept every entry as it was",
    frozenset({False, True}): "mined the repositories from GitHub or read backups of them, kept "
    "every reply as it came",
}
"""How entries came, by whether any came from a backup."""
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


class RawMarkdown(str):
    """Text that templates print as it is."""

    __slots__ = ()


def write_card(record: DatasetRecord) -> None:
    """Write the README.md of a dataset into its directory."""
    from huggingface_hub import DatasetCardData  # it takes long to import

    head = DatasetCardData(**_metadata(record)).to_yaml()
    text = f"---\n{head}\n---\n{_body(record)}"
    (record.written.directory / CARD).write_text(text, encoding="utf-8", newline="\n")


def state_audit(directory: Path, sentence: str, page: str) -> None:
    """State an audit in a finished dataset, all or nothing, unless its card was changed.

    `sentence` says how many rows are free of all findings, `page` has these with their evidence.
    """
    provenance, path = read_provenance(directory), directory / CARD
    files = provenance["files"]
    if CARD not in files or not path.is_file() or file_digest(path) != files[CARD]["sha256"]:
        return
    card = _with_audit(path.read_text(encoding="utf-8"), sentence)
    texts = {FINDINGS_PAGE: page.encode(), CARD: card.encode()}
    about = {
        name: {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
        for name, text in texts.items()
    }
    texts[PROVENANCE] = sealed_json({**provenance, "files": {**files, **about}})
    with replacing(directory) as building:
        copytree(directory, building, copy_function=_link, dirs_exist_ok=True)
        for name, text in texts.items():
            write_whole(building / name, text)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # the file system has no links
        copy2(source, target)


def published(directory: Path, repo_id: str) -> dict[str, bytes]:
    """Return the files of a dataset that name it, as they are on the Hub under this name."""
    card = (directory / CARD).read_text(encoding="utf-8")
    card = card.replace(_LOAD, f'dataset = load_dataset("{repo_id}")', 1)
    place = f"  howpublished = {{{repo_id} on the Hugging Face Hub}},\n"
    data = card.replace(f"\n{_NOTE}", f"\n{place}{_NOTE}", 1).encode()
    provenance = read_provenance(directory)
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    provenance["files"] = {**provenance["files"], CARD: about}
    return {CARD: data, PROVENANCE: sealed_json(provenance)}


def without_audit(path: Path) -> bytes:
    """Return a card, or the provenance of a dataset, without the traces of an audit."""
    if path.name == CARD:
        return _with_audit(path.read_text(encoding="utf-8", errors="replace"), "").encode()
    provenance = read_provenance(path.parent)
    files = provenance["files"].items()
    provenance["files"] = {
        name: about for name, about in files if name not in (CARD, FINDINGS_PAGE)
    }
    return sealed_json(provenance)


def _with_audit(card: str, sentence: str) -> str:
    text = _AUDITED.sub("", card, count=1)
    after = _AFTER_AUDITED.search(text)
    if not sentence or after is None:
        return text
    pages = (
        f"[Each finding with its evidence]({FINDINGS_PAGE}). "
        "`goldpan report --row ID`, in the workspace that has its tables, says why a row is good"
    )
    return f"{text[: after.start()]}{escape(sentence)}. {pages}.\n\n{text[after.start() :]}"


def _metadata(record: DatasetRecord) -> dict[str, Any]:
    """Return the metadata of a card, by which the Hub loads and finds the dataset."""
    written, card, family = record.written, record.card, record.written.family
    licenses = hub_licenses(origin.license for origin in written.origins)
    return {
        "pretty_name": record.title,
        "language": list(card.languages),
        "license": licenses[0] if len(licenses) == 1 else licenses,
        **({"license_name": "licenses-of-the-source-repositories"} if OTHER in licenses else {}),
        "task_categories": list(family.task_categories),
        "tags": sorted({"code", "github", "goldpan", *family.tags, *card.tags}),
        "size_categories": [size_category(written.rows)],
        "configs": [
            {
                "config_name": "default",
                "data_files": [
                    {"split": split.name, "path": split.pattern} for split in written.splits
                ],
            }
        ],
        "dataset_info": {
            "features": features(family.schema),
            "splits": [
                {"name": split.name, "num_bytes": split.size, "num_examples": split.rows}
                for split in written.splits
            ],
            "download_size": sum(file.size for file in written.files),
            "dataset_size": sum(split.size for split in written.splits),
        },
    }


def size_category(rows: int) -> str:
    """Return the Hub's class of sizes, of which the largest here is ``10M<n<100M``."""
    return _SIZES[min(max(len(str(rows)) - 3, 0), len(_SIZES) - 1)]


def features(schema: pa.Schema) -> list[dict[str, Any]]:
    """Return Arrow columns as the features of a card's YAML."""
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        inner = _feature(kind.value_type)
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    if pa.types.is_struct(kind):
        return {"struct": features(pa.schema(list(kind)))}
    return {"dtype": str(kind)}


def kind_name(kind: pa.DataType) -> str:
    """Return an Arrow type in words."""
    if pa.types.is_list(kind):
        return f"list of {kind_name(kind.value_type)}"
    if pa.types.is_struct(kind):
        return ", ".join(f"{field.name} ({kind_name(field.type)})" for field in kind)
    if pa.types.is_timestamp(kind):
        return "time, UTC"
    return _KINDS.get(str(kind), str(kind))


def escape(text: object) -> str:
    """Return text that Markdown and HTML show as it is, on one line, with no link in it."""
    one_line = " ".join(str(text).split())
    return _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), visible(one_line))


def markdown(template: str, package: str = "goldpan.datasets", **values: Any) -> str:
    """Return a filled template of a package; all values but `RawMarkdown` are escaped."""
    text = _environment(package).get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=PackageLoader(package),
        finalize=lambda value: value if isinstance(value, RawMarkdown) else escape(value),
        autoescape=False,  # noqa: S701  # finalize escapes for Markdown and HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "raw": RawMarkdown,
        "version": __version__,
        "kind_name": kind_name,
        "share": lambda estimate: RawMarkdown(estimate.percent()),
        "wilson": wilson,
        "coefficient": _coefficient,
        "shown_settings": _shown_settings,
        "fenced": lambda text: RawMarkdown(fenced(text)),
        "number": lambda value: RawMarkdown(f"{value:,}"),
    }
    return environment


def _body(record: DatasetRecord) -> str:
    written, card, provenance = record.written, record.card, record.provenance
    family, until = written.family, record.mined_until
    return markdown(
        "card.md.jinja",
        title=record.title,
        written=written,
        family=family,
        card=card,
        provenance=provenance,
        mined=until.date().isoformat() if until else None,
        inputs=RawMarkdown(", ".join(f"`{name}`" for name in family.inputs)),
        target=RawMarkdown(f"`{family.target}`"),
        drawn=written.report.plan.startswith(("random", "repository", "stratified")),
        empty=" and ".join(name for name, rows in written.report.rows.items() if not rows),
        counts=[
            (card.explained.get(reason, reason), count)
            for reason, count in sorted(provenance.counts.items())
        ],
        licenses=_license_lines(written.origins),
        imported=bool(family.origin),
        has_repositories=any("/" in origin.repo for origin in written.origins),
        has_code=any(column.holds == "code" for column in family.columns),
        has_roles=any(name.endswith("_role") for name in family.schema.names),
        load=_LOAD,
        mined_by=_MINED_BY[
            frozenset(s.via == "backup" for s in provenance.sources) or frozenset({False})
        ],
        stated={s.repo for s in provenance.sources if s.license_source == STATED},
        most_origins=_MOST_ORIGINS,
        limits=(
            *(line for line in family.limits if not (card.texts and line == EDITED_SINCE)),
            *card.limits,
        ),
        mined_kinds=[
            *("issues", "pulls", "comments", "reviews", "review comments", "commits"),
            *(
                ["discussions"]
                if any("discussions" in s.stored for s in provenance.sources)
                else ()
            ),
        ],
        labels=record.labels,
        sample=_sample(written),
        citation=_citation(record),
        citations=[fenced(entry) for entry in card.citations if not bibtex_problem(entry)],
    )


def _coefficient(estimate: Mapping[str, float | None]) -> RawMarkdown:
    value, low, high = (estimate[name] for name in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return RawMarkdown("not defined")
    return RawMarkdown(f"{value:.2f} (95% interval {low:.2f} to {high:.2f})")


def _shown_settings(settings: Mapping[str, Any]) -> str:
    """Return settings on one line; long lists are in the provenance."""
    lines = []
    for name, value in settings.items():
        if isinstance(value, list | tuple):
            value = ", ".join(value) if len(value) <= _MOST_SAMPLED else f"{len(value)} values"
        lines.append(f"{name} = {str(value).lower() if isinstance(value, bool) else value}")
    return "; ".join(lines)


def _sample(written: Written) -> str:
    """Return the inputs and the target of the first row, as JSON on many lines.

    JSON escapes line ends, so that no text can end the block of code that it stands in.
    """
    family = written.family
    names = dict.fromkeys(("id", *family.inputs, family.target))
    columns = [name for name in names if name in family.schema.names]
    with open_file(written.directory / written.files[0].path) as file:
        rows = next(file.iter_batches(batch_size=1, columns=columns)).to_pylist()
    shown = {name: _cut(rows[0][name]) for name in columns}
    return for_json(json.dumps(shown, indent=2, ensure_ascii=False, default=str))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_SAMPLE else value[:_LONGEST_SAMPLE].rstrip() + CUT
    if isinstance(value, list):
        more = [CUT] if len(value) > _MOST_SAMPLED else []
        return [_cut(item) for item in value[:_MOST_SAMPLED]] + more
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in value.items()}
    return value


def _citation(record: DatasetRecord) -> str:
    """Return a BibTeX entry for the dataset itself, with a digest of its content."""
    until = record.mined_until
    files = "".join(file.sha256 for file in record.written.files)
    digest = hashlib.sha256(files.encode()).hexdigest()[:12]
    name = " ".join(_UNCITED.sub(" ", record.title).split())
    fields = [
        f"  title = {{{{{name}}}}}",
        *([f"  year = {{{until.year}}}"] if until else []),
        "  version = {1.0.0}",
        f"{_NOTE}{{Made with Goldpan {__version__}; content {digest}}}",
    ]
    return "@misc{dataset_" + digest + ",\n" + ",\n".join(fields) + "\n}"


def fenced(text: str) -> str:
    """Return text of many lines that cannot end the block of code that it stands in."""
    return "\n".join(map(visible, text.strip().splitlines())).replace("`", "'")


def _license_lines(origins: tuple[Origin, ...]) -> list[tuple[str, list[int]]]:
    """Return the rows of each repository under a license, by license, the most rows first."""
    rows: dict[str, list[int]] = {}
    for origin in origins:
        rows.setdefault(origin.license or "not known", []).append(origin.rows)
    return sorted(rows.items(), key=lambda item: (-sum(item[1]), item[0]))
