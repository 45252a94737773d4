"""LangChain's vector stores as the core searches them: any one, and the known ones exactly."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from factoid.framework import (
    ID_KEY,
    LANGCHAIN_STORES,
    OPENSEARCH_FORM,
    InvalidInputError,
    KnownStore,
    Metric,
    Question,
    Row,
    Tree,
    chroma_ids,
    chroma_rows,
    known_store,
    own_row_id,
    pgvector_shortcoming,
    row_id,
    scoped_row_id,
    scrolled,
)

_PAGE = 1_000  # rows that are listed, written or removed together

_WIDER = 4  # times as many rows are fetched as have to pass a filter

# The names under which stores search by a vector, with scores.
_BY_VECTOR = (
    "similarity_search_with_score_by_vector",
    "similarity_search_by_vector_with_relevance_scores",
    "similarity_search_by_vector_with_score",
)


class _Columns(NamedTuple):
    """Rows with vectors, in the form in which stores take them."""

    ids: list[str]
    texts: list[str]
    vectors: list[list[float]]
    metadatas: list[dict[str, Any]]


class LangChainCollection:
    """A vector store of LangChain's of which nothing but the base class is known.

    It is searched without filters, and only the order of what it returns counts.
    """

    known: KnownStore | None = None

    def __init__(self, store: VectorStore) -> None:
        self.store: Any = store
        self._metric: Metric | None = None

    def metric(self) -> Metric | None:
        """Return what the store's scores mean."""
        if self._metric is None and self.known is not None:
            self._metric = self.known.metric(self.store)  # which may ask a server
        return self._metric

    def takes_vectors(self) -> bool:
        """Return whether rows are added with vectors; else the store embeds texts itself."""
        return self.known is not None and self.known.embeds == "vectors"

    def is_exact(self) -> bool:
        """Return whether fewer rows than asked for are all that there are."""
        return self.known is not None and self.known.is_exact(self.store)

    # -- Searching --

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Return the rows nearest to a question, best first."""
        options = self._filter(condition) | self._options(limit)
        if self.known is None or question.vector is None:
            return self._in_order(question, limit)
        search = getattr(self.store, self._by_vector(""))
        return self._scored(search(question.vector.tolist(), k=limit, **options))

    async def anearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Do the same as `nearest` without blocking the event loop."""
        if self.known is None or not self.known.awaits or question.vector is None:
            return await asyncio.to_thread(self.nearest, question, limit, condition)
        options = self._filter(condition) | self._options(limit)
        search = getattr(self.store, self._by_vector("a"))
        return self._scored(await search(question.vector.tolist(), k=limit, **options))

    def _in_order(self, question: Question, limit: int) -> list[Row]:
        """Return the rows as the store orders them, without scores."""
        documents = self.store.similarity_search(question.text, k=limit)
        return [self._row(document) for document in documents]

    def _by_vector(self, prefix: str) -> str:
        for name in _BY_VECTOR:
            if hasattr(self.store, prefix + name):
                return prefix + name
        raise InvalidInputError(
            f"{type(self.store).__name__} has none of the methods {', '.join(_BY_VECTOR)}: a newer "
            "version of its package may have one"
        )

    def _filter(self, condition: Tree | None) -> dict[str, Any]:
        """Return a filter under the name that the store has for it; nothing for everything."""
        if self.known is None or condition is None:
            return {}
        native = self.known.form.filter(condition)
        if native is None:
            return {}
        return {self.known.argument: native}

    def _options(self, limit: int) -> dict[str, Any]:
        """Return what else a search of so many rows needs."""
        del limit
        return {}

    def _scored(self, results: Sequence[tuple[Document, float]]) -> list[Row]:
        return [self._row(document, float(score)) for document, score in results]

    def _row(self, document: Document, score: float = 0.0) -> Row:
        name = document.id or str(document.metadata.get("_id") or document.metadata.get("pk", ""))
        return Row(
            own_row_id(document.metadata, name), document.page_content, document.metadata, score
        )

    # -- Rows by id --

    def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the rows with these ids, in any order."""
        return [self._row(document) for document in self.store.get_by_ids(list(ids))]

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows; those with an id that is there are replaced."""
        for start in range(0, len(rows), _PAGE):
            self._put(rows[start : start + _PAGE])

    def _put(self, rows: Sequence[Row]) -> None:
        ids = [self._stored_id(row.id) for row in rows]
        metadatas = [dict(row.metadata) for row in rows]
        texts = [row.text for row in rows]
        if self.takes_vectors() and all(row.vector is not None for row in rows):
            vectors = [list(row.vector or ()) for row in rows]
            self._put_embedded(_Columns(ids, texts, vectors, metadatas))
            return
        documents = []
        for text, metadata, name in zip(texts, metadatas, ids, strict=True):
            documents.append(Document(page_content=text, metadata=metadata, id=name))
        self.store.add_documents(documents, ids=ids)

    def _put_embedded(self, columns: _Columns) -> None:
        self.store.add_embeddings(
            columns.texts, columns.vectors, metadatas=columns.metadatas, ids=columns.ids
        )

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        for start in range(0, len(ids), _PAGE):
            self._remove(list(map(self._stored_id, ids[start : start + _PAGE])))

    def _remove(self, ids: list[str]) -> None:
        self.store.delete(ids)

    def _stored_id(self, name: str) -> str:
        return name

    # -- All rows --

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        """Yield all rows, or at least those that meet a condition."""
        del condition
        raise InvalidInputError(f"{type(self.store).__name__} cannot list its rows")

    def ids(self, condition: Tree) -> Iterator[str] | None:
        """Return the ids of the rows that meet a condition; None if they cannot be listed alone."""
        del condition
        return None

    def leaves(self, condition: Tree) -> bool | None:
        """Return whether any row meets a condition; None if that is not known."""
        del condition
        return None

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        """Return why `nearest` may miss rows; "" if it is not known to miss any."""
        del question, limit, condition
        return ""


class _Known(LangChainCollection):
    """One of the known stores."""

    def __init__(self, store: VectorStore, known: KnownStore) -> None:
        super().__init__(store)
        self.known = known

    def _native(self, condition: Tree | None) -> Any:
        """Return a filter in the store's form; None for everything."""
        return next(iter(self._filter(condition).values()), None)


class _InMemory(_Known):
    def _filter(self, condition: Tree | None) -> dict[str, Any]:
        options = super()._filter(condition)
        if not options:
            return {}
        passes = options["filter"]
        return {"filter": lambda document: passes(document.metadata)}

    def _put_embedded(self, columns: _Columns) -> None:
        for name, text, vector, metadata in zip(*columns, strict=True):
            record = {"id": name, "vector": vector, "text": text, "metadata": metadata}
            self.store.store[name] = record

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        del condition
        for record in list(self.store.store.values()):
            metadata = record["metadata"]
            name = own_row_id(metadata, record["id"])
            yield Row(name, record["text"], metadata, vector=record["vector"])


class _FAISS(_Known):
    """It filters the rows that it fetched, 20 by default: more are fetched until enough pass."""

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        total = self.store.index.ntotal
        if not total or question.vector is None:
            return []
        vector = question.vector.tolist()
        options = self._filter(condition)
        width = min(_WIDER * limit, total)
        while True:
            neighbours = self.store.similarity_search_with_score_by_vector(
                vector, k=limit, fetch_k=width, **options
            )
            if len(neighbours) == limit or width == total:
                return self._scored(neighbours)
            width = min(_WIDER * width, total)

    def get(self, ids: Sequence[str]) -> list[Row]:
        known = {*self.store.index_to_docstore_id.values()}
        return super().get([name for name in ids if name in known])

    def _put_embedded(self, columns: _Columns) -> None:
        self._remove(columns.ids)  # it refuses ids that it has
        self.store.add_embeddings(
            list(zip(columns.texts, columns.vectors, strict=True)),
            metadatas=columns.metadatas,
            ids=columns.ids,
        )

    def _remove(self, ids: list[str]) -> None:
        known = {*self.store.index_to_docstore_id.values()}
        present = [name for name in dict.fromkeys(ids) if name in known]
        if present:  # it refuses ids that it does not have
            self.store.delete(present)

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        del condition
        for place, name in list(self.store.index_to_docstore_id.items()):
            row = self._row(self.store.docstore.search(name))
            vector = self.store.index.reconstruct(place).tolist()
            yield Row(row.id, row.text, row.metadata, vector=vector)


class _Chroma(_Known):
    def _put_embedded(self, columns: _Columns) -> None:
        self.store._collection.upsert(
            ids=columns.ids,
            embeddings=columns.vectors,
            documents=columns.texts,
            metadatas=columns.metadatas,
        )

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        yield from chroma_rows(self.store, self._native(condition))

    def ids(self, condition: Tree) -> Iterator[str]:
        return chroma_ids(self.store, self._native(condition))

    def leaves(self, condition: Tree) -> bool | None:
        page = self.store.get(where=self._native(condition), limit=1, include=[])
        return bool(page["ids"])


class _PGVector(_Known):
    """Ids are those of the table, which all collections share: they hold the collection's name."""

    def _stored_id(self, name: str) -> str:
        return scoped_row_id(self.store.collection_name, name)

    def get(self, ids: Sequence[str]) -> list[Row]:
        return super().get(list(map(self._stored_id, ids)))

    def _remove(self, ids: list[str]) -> None:
        self.store.delete(ids, collection_only=True)

    def _rows(self, condition: Tree | None, session: Any) -> Any:
        table = self.store.EmbeddingStore
        collection = self.store.get_collection(session)
        rows = session.query(table).filter(table.collection_id == collection.uuid)
        native = self._native(condition)
        if native is not None:
            rows = rows.filter(self.store._create_filter_clause(native))
        return rows

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        last = ""
        while True:
            with self.store._make_sync_session() as session:
                table = self.store.EmbeddingStore
                rows = self._rows(condition, session)
                page = rows.filter(table.id > last).order_by(table.id).limit(_PAGE).all()
                records = []
                for row in page:
                    records.append((row.id, row.document, row.cmetadata or {}, row.embedding))
            for name, text, metadata, vector in records:
                yield Row(own_row_id(metadata, name), text, metadata, vector=list(vector))
            if len(records) < _PAGE:
                return
            last = records[-1][0]

    def ids(self, condition: Tree) -> Iterator[str]:
        with self.store._make_sync_session() as session:
            metadata = self.store.EmbeddingStore.cmetadata
            columns = self._rows(condition, session).with_entities(metadata[ID_KEY].astext)
            names = [name for (name,) in columns]
        yield from map(row_id, names)

    def leaves(self, condition: Tree) -> bool | None:
        with self.store._make_sync_session() as session:
            return bool(self._rows(condition, session).limit(1).count())

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        if question.vector is None:
            return ""
        distance = self.store.distance_strategy(question.vector.tolist())
        table = self.store.EmbeddingStore.__table__
        with self.store._make_sync_session() as session:
            rows = self._rows(condition, session).order_by(distance).limit(limit)
            return pgvector_shortcoming(session.connection(), table, rows.statement)


class _PGVectorStore(_Known):
    def __init__(self, store: Any, known: KnownStore) -> None:
        super().__init__(store, known)
        if store._PGVectorStore__vs.metadata_json_column is None:
            raise InvalidInputError(
                "PGVectorStore needs a column for any metadata: make the table with "
                "init_vectorstore_table(..., store_metadata=True)"
            )

    def get(self, ids: Sequence[str]) -> list[Row]:
        rows: list[Row] = []
        for start in range(0, len(ids), _PAGE):
            rows += super().get(ids[start : start + _PAGE])
        return rows

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        where = self._native(condition)
        start = 0
        while True:
            page = self.store.get(where=where, limit=_PAGE, offset=start)
            columns = (page["ids"], page["documents"], page["metadatas"])
            for name, text, metadata in zip(*columns, strict=True):
                yield Row(own_row_id(metadata, name), text, metadata)
            if len(page["ids"]) < _PAGE:
                return
            start += _PAGE

    def leaves(self, condition: Tree) -> bool | None:
        return bool(self.store.get(where=self._native(condition), limit=1)["ids"])

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        if question.vector is None:
            return ""
        steps = self._shortcoming(question.vector.tolist(), limit, condition)
        return str(self.store._engine._run_as_sync(steps))

    async def _shortcoming(self, vector: list[float], limit: int, condition: Tree) -> str:
        inner = self.store._PGVectorStore__vs
        sqlalchemy = import_module("sqlalchemy")
        table = sqlalchemy.table(inner.table_name, schema=inner.schema_name)
        passing, values = inner._create_filter_clause(self._native(condition))
        operator = inner.distance_strategy.operator
        nearest = (
            f'SELECT * FROM "{inner.schema_name}"."{inner.table_name}" '  # noqa: S608
            f"WHERE {passing} "
            f'ORDER BY "{inner.embedding_column}" {operator} :vector LIMIT :count'
        )
        values = {**values, "vector": str(vector), "count": limit}
        untyped = sqlalchemy.types.NullType()  # as the store itself passes values
        parameters = []
        for key, value in values.items():
            parameters.append(sqlalchemy.bindparam(key, value, untyped))
        statement = sqlalchemy.text(nearest).bindparams(*parameters)
        own_remedy = ""
        async with inner.engine.connect() as connection:
            if inner.index_query_options:
                own_remedy = _PGVECTORSTORE_REMEDY
                for setting in inner.index_query_options.to_parameter():
                    await connection.execute(sqlalchemy.text(f"SET LOCAL {setting}"))
            note = await connection.run_sync(pgvector_shortcoming, table, statement, own_remedy)
        return str(note)


# Options of the store hold for its searches, whatever the role has.
_PGVECTORSTORE_REMEDY = (
    "open the store with index_query_options=HNSWQueryOptions(ef_search={width}), or with "
    "IVFFlatQueryOptions(probes={width}) over an IVFFlat index"
)


class _Qdrant(_Known):
    def takes_vectors(self) -> bool:
        """Return whether rows are added with vectors: sparse ones are made by the store."""
        mode = getattr(self.store.retrieval_mode, "value", self.store.retrieval_mode)
        return super().takes_vectors() and mode == "dense"

    def _put_embedded(self, columns: _Columns) -> None:
        models = import_module("qdrant_client.models")
        points = []
        for name, text, vector, metadata in zip(*columns, strict=True):
            payload = {
                self.store.content_payload_key: text,
                self.store.metadata_payload_key: metadata,
            }
            named: Any = vector
            if self.store.vector_name:
                named = {self.store.vector_name: vector}
            points.append(models.PointStruct(id=name, vector=named, payload=payload))
        self.store.client.upsert(self.store.collection_name, points)

    def _points(self, condition: Tree | None, **parts: bool) -> Iterator[Any]:
        """Yield the points that meet a condition, with the parts of them that are asked for."""
        place = None
        while True:
            points, place = self.store.client.scroll(
                self.store.collection_name,
                scroll_filter=self._native(condition),
                limit=_PAGE,
                offset=place,
                **parts,
            )
            yield from points
            if place is None:
                return

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        for point in self._points(condition, with_vectors=True):
            metadata = point.payload.get(self.store.metadata_payload_key) or {}
            text = point.payload.get(self.store.content_payload_key, "")
            vector = point.vector
            if isinstance(vector, Mapping):
                vector = vector[self.store.vector_name]
            yield Row(own_row_id(metadata, str(point.id)), text, metadata, vector=vector)

    def ids(self, condition: Tree) -> Iterator[str]:
        for point in self._points(condition, with_payload=False):
            yield str(point.id)

    def leaves(self, condition: Tree) -> bool | None:
        points, _ = self.store.client.scroll(
            self.store.collection_name,
            scroll_filter=self._native(condition),
            limit=1,
            with_payload=False,
        )
        return bool(points)


class _Milvus(_Known):
    def __init__(self, store: Any, known: KnownStore) -> None:
        super().__init__(store, known)
        if store.auto_id or not (store.enable_dynamic_field or store._metadata_field):
            raise InvalidInputError(
                "Milvus needs ids of ours and any metadata: open it with "
                "Milvus(..., auto_id=False, enable_dynamic_field=True)"
            )

    def _exists(self) -> bool:
        return bool(self.store.client.has_collection(self.store.collection_name))

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        if not self._exists():
            return []
        return super().nearest(question, limit, condition)

    def get(self, ids: Sequence[str]) -> list[Row]:
        if not self._exists():
            return []
        records = self.store.client.get(self.store.collection_name, ids=list(ids))
        return list(map(self._of_record, records))

    def _of_record(self, record: Mapping[str, Any]) -> Row:
        fields = dict(record)
        vector = fields.pop(self.store._vector_field, None)
        text = fields.pop(self.store._text_field, "")
        name = str(fields.pop(self.store._primary_field, ""))
        if self.store._metadata_field:
            fields = fields[self.store._metadata_field]
        return Row(own_row_id(fields, name), text, fields, vector=vector)

    def _put_embedded(self, columns: _Columns) -> None:
        if self._exists():
            self._remove(columns.ids)  # an insert does not replace
        self.store.add_embeddings(
            columns.texts, columns.vectors, metadatas=columns.metadatas, ids=columns.ids
        )

    def _remove(self, ids: list[str]) -> None:
        if self._exists() and ids:
            self.store.client.delete(self.store.collection_name, ids=ids)

    def _records(self, condition: Tree | None, field: str) -> Iterator[Mapping[str, Any]]:
        """Yield the records that meet a condition, with one of their fields, or "*" for all."""
        if not self._exists():
            return
        pages = self.store.client.query_iterator(
            self.store.collection_name,
            batch_size=_PAGE,
            filter=self._native(condition) or "",
            output_fields=[field],
        )
        while page := pages.next():
            yield from page
        pages.close()

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        yield from map(self._of_record, self._records(condition, "*"))

    def ids(self, condition: Tree) -> Iterator[str]:
        key = self.store._primary_field
        for record in self._records(condition, key):
            yield str(record[key])

    def leaves(self, condition: Tree) -> bool | None:
        if not self._exists():
            return False
        records = self.store.client.query(
            self.store.collection_name,
            filter=self._native(condition),
            output_fields=[self.store._primary_field],
            limit=1,
        )
        return bool(records)


class _Pinecone(_Known):
    def get(self, ids: Sequence[str]) -> list[Row]:
        rows = []
        for start in range(0, len(ids), 100):
            reply = self.store.index.fetch(
                ids=list(ids[start : start + 100]), namespace=self.store._namespace or ""
            )
            for vector in reply.vectors.values():
                metadata = dict(vector.metadata or {})
                text = metadata.pop(self.store._text_key, "")
                rows.append(Row(own_row_id(metadata, vector.id), text, metadata))
        return rows


class _Searchable(_Known, ABC):
    """Elasticsearch or OpenSearch, which list their rows by a scroll."""

    vector_field = "vector"

    @abstractmethod
    def _first(self, query: Any, *, size: int, **options: Any) -> Any:
        """Return the first page of the hits of a query."""

    @abstractmethod
    def _exists(self) -> bool:
        """Return whether the store has its index."""

    def _hits(self, condition: Tree | None) -> Iterator[Any]:
        if self._exists():
            yield from scrolled(partial(self._first, _query(condition)), self.store.client)

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        for hit in self._hits(condition):
            [row] = _of_hits([{**hit, "found": True}])
            yield replace(row, vector=hit["_source"].get(self.vector_field))

    def leaves(self, condition: Tree) -> bool | None:
        if not self._exists():
            return False
        return bool(self._first(_query(condition), size=1)["hits"]["hits"])


def _query(condition: Tree | None) -> dict[str, Any]:
    """Return a condition as a query of Elasticsearch and OpenSearch."""
    query: dict[str, Any] | None = None
    if condition is not None:
        query = OPENSEARCH_FORM.filter(condition)
    return query or {"match_all": {}}


class _Elasticsearch(_Searchable):
    def _options(self, limit: int) -> dict[str, Any]:
        # Without it no search finds more than 50.
        return {"custom_query": partial(_with_candidates, limit)}

    def _exists(self) -> bool:
        return bool(self.store.client.indices.exists(index=self.store._store.index))

    def _first(self, query: Any, *, size: int, **options: Any) -> Any:
        return self.store.client.search(
            index=self.store._store.index, query=query, size=size, **options
        )

    def get(self, ids: Sequence[str]) -> list[Row]:
        reply = self.store.client.mget(index=self.store._store.index, ids=list(ids))
        return _of_hits(reply["docs"])


def _with_candidates(limit: int, body: dict[str, Any], _query: str | None) -> dict[str, Any]:
    """Return a query of Elasticsearch that compares as many candidates as it returns."""
    body["knn"]["num_candidates"] = limit
    return body


class _OpenSearch(_Searchable):
    vector_field = "vector_field"

    def _put_embedded(self, columns: _Columns) -> None:
        pairs = list(zip(columns.texts, columns.vectors, strict=True))
        # It refuses more rows than 500, unless it is told how many there are.
        self.store.add_embeddings(
            pairs, metadatas=columns.metadatas, ids=columns.ids, bulk_size=len(columns.ids)
        )

    def _exists(self) -> bool:
        return bool(self.store.client.indices.exists(index=self.store.index_name))

    def _first(self, query: Any, *, size: int, **options: Any) -> Any:
        body = {"query": query, "size": size}
        return self.store.client.search(index=self.store.index_name, body=body, **options)

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        if not self._exists():
            return []
        return super().nearest(question, limit, condition)

    def get(self, ids: Sequence[str]) -> list[Row]:
        if not self._exists():
            return []
        reply = self.store.client.mget(index=self.store.index_name, body={"ids": list(ids)})
        return _of_hits(reply["docs"])

    def _remove(self, ids: list[str]) -> None:
        if self._exists():
            super()._remove(ids)


def _of_hits(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return records of Elasticsearch or OpenSearch as rows, without those that are not there."""
    rows = []
    for record in records:
        if record.get("found"):
            source = record["_source"]
            metadata = source.get("metadata") or {}
            name = own_row_id(metadata, record["_id"])
            rows.append(Row(name, source.get("text", ""), metadata))
    return rows


class _Weaviate(_Known):
    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Return rows by a search for vectors alone: its scores are normalised in each search."""
        options = self._filter(condition)
        if question.vector is None:
            return self._in_order(question, limit)
        documents = self.store.similarity_search(
            question.text, k=limit, vector=question.vector.tolist(), alpha=1, **options
        )
        return [self._row(document) for document in documents]

    def get(self, ids: Sequence[str]) -> list[Row]:
        rows = []
        collection = self.store._client.collections.get(self.store._index_name)
        for name in ids:
            record = collection.query.fetch_object_by_id(name)
            if record is not None:
                metadata = dict(record.properties)
                text = str(metadata.pop(self.store._text_key, ""))
                rows.append(Row(own_row_id(metadata, name), text, metadata))
        return rows


_CLASSES: dict[str, type[_Known]] = {
    "InMemoryVectorStore": _InMemory,
    "FAISS of langchain-community": _FAISS,
    "Chroma": _Chroma,
    "PGVector": _PGVector,
    "PGVectorStore": _PGVectorStore,
    "Qdrant": _Qdrant,
    "Milvus": _Milvus,
    "Pinecone": _Pinecone,
    "Elasticsearch": _Elasticsearch,
    "OpenSearch of langchain-community": _OpenSearch,
    "Weaviate": _Weaviate,
}


def collection_of(store: VectorStore) -> LangChainCollection:
    """Return a vector store as the core searches it.

    Raises:
        InvalidInputError: It is not a vector store, or was opened in a way that cannot work.
    """
    if not isinstance(store, VectorStore):
        raise InvalidInputError(
            f"vectorstore must be a LangChain VectorStore, got {type(store).__name__}"
        )
    known = known_store(store, LANGCHAIN_STORES)
    if known is None:
        return LangChainCollection(store)
    return _CLASSES[known.name](store, known)
