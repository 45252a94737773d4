"""Keep no stale facts: what a call adds of a source takes the place of what earlier calls added of it.

Loaders give documents no ids, so an edited file becomes another document. It says where it comes from, in its metadata.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from factoid.errors import InvalidInputError
from factoid.filters import Comparison, Operator
from factoid.units import Document

if TYPE_CHECKING:
    from factoid.store import UnitStore

AUTO = "auto"
_AUTO_KEYS = ("source", "file_path")  # under which loaders of LangChain and readers of LlamaIndex name the file or page

# A file or an address, rather than a word such as "news" that many documents share.
_PLACE = re.compile(r"[/\\]|\.[A-Za-z]\w{0,4}\Z")
_BLOCK = 500  # sources looked up at a time

logger = logging.getLogger(__name__)


class Sources:
    """The sources of the documents of one call, and which documents it brought of each.

    Args:
        key: The key of the metadata that names the source; "auto" for the rules of `UnitStore.add_documents`.
        known: Sources that earlier calls added to the same open store; those of this call are added to it.

    Raises:
        InvalidInputError: The key is not a string.
    """

    def __init__(self, key: str, known: set[str]) -> None:
        if not isinstance(key, str) or not key:
            raise InvalidInputError(f"source_key must be a key of the metadata, 'auto' or None, got {key!r}")
        self._key = key
        self._known = known
        self._ids: dict[str, set[str]] = {}  # of the documents of this call, by source
        self._metadata: dict[str, set[str]] = {}  # theirs, as JSON, by source

    def note(self, document: Document) -> None:
        """Note a document of the call, if it names a source and has no id of its own."""
        source = self._source(document)
        if source is not None:
            self._ids.setdefault(source, set()).add(document.id)
            self._metadata.setdefault(source, set()).add(_as_json(document))

    def delete_others(self, store: UnitStore) -> int:
        """Delete the other documents of these sources that have no id of their own either; return their number."""
        names = list(self._ids)
        stale: list[str] = []
        for start in range(0, len(names), _BLOCK):
            for source, others in self._others(store, names[start : start + _BLOCK]).items():
                if self._are_replaced(source, others):
                    stale += [document.id for document in others]
        if stale:
            store.delete(document_ids=stale)
        self._known.update(names)
        return len(stale)

    def _others(self, store: UnitStore, names: Sequence[str]) -> dict[str, list[Document]]:
        """Return the stored documents of some sources that this call did not bring, by source."""
        keys = _AUTO_KEYS if self._key == AUTO else (self._key,)
        stored: list[str] = []
        with store.connections.reading() as snapshot:
            for key in keys:
                stored += snapshot.documents_where(Comparison(key, Operator.IN, list(names)))
        brought = {document_id for name in names for document_id in self._ids[name]}
        others: dict[str, list[Document]] = {}
        for document in store.documents([each for each in dict.fromkeys(stored) if each not in brought]):
            source = self._source(document)
            if source is not None and source in names:
                others.setdefault(source, []).append(document)
        return others

    def _are_replaced(self, source: str, others: Sequence[Document]) -> bool:
        """Return whether what this call brought of a source takes the place of other documents, or is a further part of it."""
        if self._key != AUTO or source not in self._known:
            return True
        if self._metadata[source].isdisjoint(map(_as_json, others)):
            return False  # further pages or rows
        logger.warning(
            "the documents of %r that an earlier call added are replaced by those of this one. If they are further parts of it, "
            "add all parts in one call, give them ids, or set source_key=None; source_key='source' replaces without this line",
            source,
        )
        return True

    def _source(self, document: Document) -> str | None:
        """Return the source of a document, or None if it names none or has an id of its own."""
        source = None
        if self._key != AUTO:
            source = document.metadata.get(self._key)
        else:
            places = [document.metadata.get(key) for key in _AUTO_KEYS]
            source = next((place for place in places if isinstance(place, str) and _PLACE.search(place)), None)
        if not isinstance(source, str) or not source:
            return None
        unnamed = Document(document.text, document.title, document.section, "", document.metadata)
        return source if document.id == unnamed.id else None


def _as_json(document: Document) -> str:
    return json.dumps(dict(document.metadata), sort_keys=True)
