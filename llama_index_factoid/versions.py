"""Tell the nodes of an earlier version of a source from those that are being added.

The framework adds the nodes of a document in several calls, so a call may hold only some of them.
But each node says of which version of its source it is: by the hash of the document, and by the
size and date of the file. A file that was read again without lasting ids is told by its texts: they
stand in the same places of the same version, under another document's id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.constants import DATA_KEY, TYPE_KEY
from llama_index.core.schema import BaseNode, NodeRelationship

from factoid.framework import (
    All,
    AnyOf,
    Comparison,
    Granularity,
    Not,
    Operator,
    Tree,
    Unit,
    UnitStore,
)
from llama_index_factoid.convert import DOCUMENT_IDS, REF_DOC_ID

_FILE = "file_path"
_VERSION = ("file_size", "last_modified_date")  # of a file, as `SimpleDirectoryReader` has them
_PAGE = "page_label"  # of a document that is one page of a file

# Metadata that differ between two readings of one file: what names the document, and a date.
_OF_READING = {*DOCUMENT_IDS, "passage_id", "last_accessed_date"}

_Content = tuple[Granularity, str, int, int, str]


def stale_ids(store: UnitStore, nodes: Sequence[BaseNode], units: Sequence[Unit]) -> list[str]:
    """Return the ids of stored nodes of earlier versions of the nodes' sources.

    The ids of the nodes themselves are left out.
    """
    added = {unit.id for unit in units}
    stored = [unit for unit in _candidates(store, nodes, units) if unit.id not in added]
    if not stored:
        return []
    hashes: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    contents: dict[_Content, str] = {}  # the document's id of what is added from files
    for node, unit in zip(nodes, units, strict=True):
        source = node.source_node
        if source is not None and source.hash:
            hashes.setdefault(unit.document_id, set()).add(source.hash)
        version = _version(unit.metadata)
        if version is not None:
            files.setdefault(unit.metadata[_FILE], set()).add(version)
            contents[_content(unit)] = unit.document_id
    stale = []
    for unit in stored:
        written = _hash(unit)
        version = _version(unit.metadata)
        other_text = written is not None and written not in hashes.get(unit.document_id, {written})
        other_file = version is not None and version not in files.get(
            unit.metadata[_FILE], {version}
        )
        is_read_again = False
        if version is not None:
            document_id = contents.get(_content(unit), unit.document_id)
            is_read_again = document_id != unit.document_id
        if other_text or other_file or is_read_again:
            stale.append(unit.id)
    return stale


def _candidates(store: UnitStore, nodes: Iterable[BaseNode], units: Iterable[Unit]) -> list[Unit]:
    """Return the stored units of the same documents, and of other readings of the same files."""
    documents = set()
    for node, unit in zip(nodes, units, strict=True):
        if node.source_node is not None:
            documents.add(unit.document_id)
    candidates = {unit.id: unit for unit in store.units_of(sorted(documents))}
    versions: dict[tuple[str, str], list[Unit]] = {}
    for unit in units:
        version = _version(unit.metadata)
        if version is not None:
            versions.setdefault((unit.metadata[_FILE], version), []).append(unit)
    others = []
    for same_version in versions.values():
        others.append(_other_version(same_version[0].metadata))
        others.append(_other_documents(same_version))
    if others:
        ids = store.ids(AnyOf(tuple(others)))
        candidates |= {unit.id: unit for unit in store.get(ids)}
    return list(candidates.values())


def _other_version(metadata: Mapping[str, Any]) -> All:
    """Return a filter for nodes of another version of a file."""
    same_file = Comparison(_FILE, Operator.EQ, metadata[_FILE])
    return All((same_file, Not(_same_version(metadata))))


def _other_documents(units: Sequence[Unit]) -> All:
    """Return a filter for nodes of the same version of a file, and its pages, in other documents.

    Args:
        units: Those that are added of one version of a file.
    """
    metadata = units[0].metadata
    conditions: list[Tree] = [
        Comparison(_FILE, Operator.EQ, metadata[_FILE]),
        _same_version(metadata),
        Comparison(REF_DOC_ID, Operator.NIN, sorted({unit.document_id for unit in units})),
    ]
    pages = {unit.metadata[_PAGE] for unit in units if isinstance(unit.metadata.get(_PAGE), str)}
    if pages:
        conditions.append(Comparison(_PAGE, Operator.IN, sorted(pages)))
    return All(tuple(conditions))


def _same_version(metadata: Mapping[str, Any]) -> All:
    same = []
    for key in _VERSION:
        if key in metadata:
            same.append(Comparison(key, Operator.EQ, metadata[key]))
    return All(tuple(same))


def _content(unit: Unit) -> _Content:
    """Return what two readings of one file have in common: text, place and metadata."""
    lasting = {}
    for key, value in unit.metadata.items():
        if key not in _OF_READING:
            lasting[key] = value
    written = json.dumps(lasting, sort_keys=True)
    return unit.granularity, unit.text, unit.start, unit.end, written


def _version(metadata: Mapping[str, Any]) -> str | None:
    """Return the version of the file that a node is of, or None if its metadata do not say."""
    known = {}
    for key in _VERSION:
        if metadata.get(key) is not None:
            known[key] = metadata[key]
    if not known or not isinstance(metadata.get(_FILE), str):
        return None
    return json.dumps(known, sort_keys=True)


def _hash(unit: Unit) -> str | None:
    """Return the hash of the source of a stored node, or None if it has none."""
    if not unit.payload.startswith(f'{{"{TYPE_KEY}"'):
        return None
    relationships = json.loads(unit.payload)[DATA_KEY].get("relationships", {})
    source = relationships.get(NodeRelationship.SOURCE.value)
    if isinstance(source, dict):
        return source.get("hash")
    return None
