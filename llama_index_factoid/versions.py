"""Tell the nodes of an earlier version of a source from those that are being added.

The framework adds the nodes of a document in several calls, so a call may hold only some of them.
But each node says of which version of its source it is: by the hash of the document, and by the
size and date of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.constants import DATA_KEY, TYPE_KEY
from llama_index.core.schema import BaseNode, NodeRelationship

from factoid.framework import All, AnyOf, Comparison, Not, Operator, Unit, UnitStore

_FILE = "file_path"
_VERSION = ("file_size", "last_modified_date")  # of a file, as `SimpleDirectoryReader` has them


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
    for node, unit in zip(nodes, units, strict=True):
        source = node.source_node
        if source is not None and source.hash:
            hashes.setdefault(unit.document_id, set()).add(source.hash)
        version = _version(unit.metadata)
        if version is not None:
            files.setdefault(unit.metadata[_FILE], set()).add(version)
    stale = []
    for unit in stored:
        written = _hash(unit)
        version = _version(unit.metadata)
        other_text = written is not None and written not in hashes.get(unit.document_id, {written})
        other_file = version is not None and version not in files.get(
            unit.metadata[_FILE], {version}
        )
        if other_text or other_file:
            stale.append(unit.id)
    return stale


def _candidates(store: UnitStore, nodes: Iterable[BaseNode], units: Iterable[Unit]) -> list[Unit]:
    """Return the stored units of the same documents, and of other versions of the same files."""
    documents = set()
    for node, unit in zip(nodes, units, strict=True):
        if node.source_node is not None:
            documents.add(unit.document_id)
    candidates = {unit.id: unit for unit in store.units_of(sorted(documents))}
    versions = {}
    for unit in units:
        if _version(unit.metadata):
            versions[(unit.metadata[_FILE], _version(unit.metadata))] = unit
    others = [_other_version(unit.metadata) for unit in versions.values()]
    if others:
        ids = store.ids(AnyOf(tuple(others)))
        candidates |= {unit.id: unit for unit in store.get(ids)}
    return list(candidates.values())


def _other_version(metadata: Mapping[str, Any]) -> All:
    """Return a filter for nodes of another version of a file."""
    same = []
    for key in _VERSION:
        if key in metadata:
            same.append(Comparison(key, Operator.EQ, metadata[key]))
    return All((Comparison(_FILE, Operator.EQ, metadata[_FILE]), Not(All(tuple(same)))))


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
