"""Replace what earlier calls added of a source, so that no stale facts stay in a store.

Loaders of files give documents no ids. A document's id then comes from its content, so an edited
file is another document than before. Its metadata name the file, which is the source: documents of
the same source that a call did not bring are deleted at its end. A document that has an id of its
own is left alone, since the id already says what it replaces.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import NamedTuple

from factoid.errors import InvalidInputError
from factoid.filters import Comparison, Operator
from factoid.store.database.connections import Connections
from factoid.store.database.transaction import Selection
from factoid.units import Document

AUTO = "auto"
# under which loaders of LangChain and readers of LlamaIndex name the file or page
_AUTO_KEYS = ("source", "file_path")

# A file or an address, rather than a word such as "news" that many documents share.
_PLACE = re.compile(r"[/\\]|\.[A-Za-z]\w{0,4}\Z")
# Keys that say whose a document is: two tenants have a "handbook.pdf" each.
_OWNER_KEY = re.compile(
    r"(?:tenant|user|owner|customer|client|account|org|organi[sz]ation|company|team|group"
    r"|workspace|namespace|project|acl)"
    r"(?:[_.-]?(?:id|name|key))?s?",
    re.IGNORECASE,
)
_BLOCK = 500  # sources looked up at a time

logger = logging.getLogger(__name__)


class Source(NamedTuple):
    """Where a document comes from.

    Attributes:
        place: A file or an address, or what else the key of the metadata holds.
        owner: The other values that keep sources of one place apart, by key, as JSON.
    """

    place: str
    owner: str


class Sources:
    """The sources of the documents of one call, and which documents it brought of each.

    Args:
        key: The key of the metadata that names the source, perhaps with further ones that belong to
            it, such as ("source", "tenant"); "auto" for the rules of `UnitStore.add_documents`.
        known: Sources that earlier calls added to the same open store; those of this call are added
            to it.

    Raises:
        InvalidInputError: The key is neither a string nor several.
    """

    def __init__(self, key: str | Sequence[str], known: set[Source]) -> None:
        keys: tuple[str, ...] = ()
        if isinstance(key, str):
            keys = (key,)
        elif isinstance(key, list | tuple):
            keys = tuple(key)
        if not keys or not all(isinstance(name, str) and name for name in keys):
            raise InvalidInputError(
                f"source_key must be a key of the metadata or several, 'auto' or None, got {key!r}"
            )
        self._is_auto = keys == (AUTO,)
        self._keys = _AUTO_KEYS if self._is_auto else keys[:1]
        self._further = keys[1:]
        self._known = known
        self._ids: dict[Source, set[str]] = {}  # of the documents of this call, by source
        self._metadata: dict[Source, set[str]] = {}  # theirs, as JSON, by source

    def note(self, document: Document) -> None:
        """Note a document of the call, if it names a source and has no id of its own."""
        source = self._source(document)
        if source is not None:
            self._ids.setdefault(source, set()).add(document.id)
            self._metadata.setdefault(source, set()).add(_as_json(document))

    def delete_others(self, connections: Connections) -> int:
        """Delete the other documents of these sources that have no id of their own either.

        Return their number.
        """
        sources = list(self._ids)
        stale: list[str] = []
        for start in range(0, len(sources), _BLOCK):
            others = self._others(connections, sources[start : start + _BLOCK])
            for source, documents in others.items():
                if self._are_replaced(source, documents):
                    stale += [document.id for document in documents]
        if stale:
            with connections.transaction() as transaction:
                transaction.remove(Selection(document_ids=stale))
        self._known.update(sources)
        return len(stale)

    def _others(
        self, connections: Connections, sources: Sequence[Source]
    ) -> dict[Source, list[Document]]:
        """Return the stored documents of some sources that this call did not bring, by source."""
        places = sorted({source.place for source in sources})
        brought: set[str] = set()
        for source in sources:
            brought |= self._ids[source]
        stored: list[str] = []
        with connections.reading() as snapshot:
            for key in self._keys:
                stored += snapshot.documents_where(Comparison(key, Operator.IN, places))
            others_ids = []
            for id_ in dict.fromkeys(stored):
                if id_ not in brought:
                    others_ids.append(id_)
            documents = snapshot.documents_by_id(others_ids)
        others: dict[Source, list[Document]] = {}
        for document_id in others_ids:
            if document_id not in documents:
                continue
            document, _ = documents[document_id]
            named = self._source(document)
            if named is not None and named in self._ids:
                others.setdefault(named, []).append(document)
        return others

    def _are_replaced(self, source: Source, others: Sequence[Document]) -> bool:
        """Return whether other documents of a source are replaced by those of this call.

        They are not if those are a further part of it.
        """
        if not self._is_auto or source not in self._known:
            return True
        if self._metadata[source].isdisjoint(map(_as_json, others)):
            return False  # further pages or rows
        logger.warning(
            "the documents of %r that an earlier call added are replaced by those of this one. If "
            "they are further parts of it, add all parts in one call, give them ids, or set "
            "source_key=None; source_key='source' replaces without this line",
            source.place,
        )
        return True

    def _source(self, document: Document) -> Source | None:
        """Return the source of a document, or None if it names none or has an id of its own."""
        values = list(map(document.metadata.get, self._keys))
        places = []
        for value in values:
            if isinstance(value, str) and value:
                places.append(value)
        if self._is_auto:
            places = [place for place in places if _PLACE.search(place)]
        if not places:
            return None
        unnamed = Document(document.text, document.title, document.section, "", document.metadata)
        if document.id != unnamed.id:
            return None
        return Source(places[0], self._owner(document))

    def _owner(self, document: Document) -> str:
        """Return what keeps sources of one place apart.

        Values of further keys or, for "auto", of keys that name an owner.
        """
        keys = list(self._further)
        if self._is_auto:
            keys = []
            for key in document.metadata:
                if _OWNER_KEY.fullmatch(key):
                    keys.append(key)
        return json.dumps({key: document.metadata.get(key) for key in keys}, sort_keys=True)


def _as_json(document: Document) -> str:
    return json.dumps(dict(document.metadata), sort_keys=True)
