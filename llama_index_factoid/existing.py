"""LlamaIndex's vector stores as the core searches them: any one, and the known ones exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from factoid.framework import (
    DOCUMENT_KEY,
    LLAMA_INDEX_STORES,
    OPENSEARCH_FORM,
    All,
    AnyOf,
    Comparison,
    InvalidInputError,
    KnownStore,
    Metric,
    Operator,
    Question,
    Row,
    Tree,
    chroma_ids,
    chroma_rows,
    known_store,
    own_row_id,
    pgvector_shortcoming,
    scrolled,
)

_PAGE = 1_000  # rows that are listed, written or removed together
_OPERATORS = {
    Operator.EQ: FilterOperator.EQ,
    Operator.IN: FilterOperator.IN,
    Operator.NIN: FilterOperator.NIN,
}


# -- Filters --


def metadata_filters(tree: Tree) -> MetadataFilters:
    """Return a filter as LlamaIndex's `MetadataFilters`, with as few levels as it has."""
    if isinstance(tree, AnyOf):
        return MetadataFilters(filters=_parts(tree), condition=FilterCondition.OR)
    if isinstance(tree, All):
        return MetadataFilters(filters=_parts(tree))
    return MetadataFilters(filters=_parts(All((tree,))))


def _parts(tree: All | AnyOf) -> list[Any]:
    """Return the parts of a filter; those of the same kind within it are on the same level."""
    parts: list[Any] = []
    for part in tree.parts:
        if isinstance(part, Comparison):
            parts.append(
                MetadataFilter(key=part.key, operator=_OPERATORS[part.operator], value=part.value)
            )
        elif type(part) is type(tree):
            parts += _parts(part)
        else:
            parts.append(metadata_filters(part))
    return parts


# -- Any store --


class LlamaIndexCollection:
    """A vector store of LlamaIndex's of which nothing but the base class is known.

    It is searched without filters, and only the order of what it returns counts.
    """

    known: KnownStore | None = None

    def __init__(self, store: BasePydanticVectorStore) -> None:
        self.store: Any = store
        self._metric: Metric | None = None

    def metric(self) -> Metric | None:
        """Return what the store's scores mean."""
        if self._metric is None and self.known is not None:
            self._metric = self.known.metric(self.store)  # which may ask a server
        return self._metric

    def takes_vectors(self) -> bool:
        """Return whether rows are added with vectors: nodes are."""
        return True

    def is_exact(self) -> bool:
        """Return whether fewer rows than asked for are all that there are."""
        return self.known is not None and self.known.is_exact(self.store)

    # -- Searching --

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Return the rows nearest to a question, best first."""
        return self._found(self.store.query(self._query(question, limit, condition)))

    async def anearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Do the same as `nearest` without blocking the event loop."""
        if self.known is None or not self.known.awaits:
            return await asyncio.to_thread(self.nearest, question, limit, condition)
        return self._found(await self.store.aquery(self._query(question, limit, condition)))

    def _query(self, question: Question, limit: int, condition: Tree) -> VectorStoreQuery:
        if question.vector is None:
            raise InvalidInputError(
                "vector stores of LlamaIndex are searched by a vector: give embed_model"
            )
        return VectorStoreQuery(
            query_embedding=question.vector.tolist(),
            similarity_top_k=limit,
            query_str=question.text,
            filters=self._filters(condition),
        )

    def _filters(self, condition: Tree | None) -> MetadataFilters | None:
        if self.known is None or condition is None:
            return None
        filters: MetadataFilters | None = self.known.form.filter(condition)
        return filters

    def _found(self, result: VectorStoreQueryResult) -> list[Row]:
        scores = result.similarities or []
        rows = []
        for place, node in enumerate(result.nodes or []):
            score = 0.0
            if place < len(scores):
                score = float(scores[place])
            rows.append(_row(node, score))
        return rows

    # -- Rows by id --

    def get(self, ids: Sequence[str]) -> list[Row]:
        """Return the rows with these ids, in any order."""
        rows = []
        for start in range(0, len(ids), _PAGE):
            nodes = self.store.get_nodes(node_ids=list(ids[start : start + _PAGE]))
            rows += [_row(node) for node in nodes]
        return rows

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows; those with an id that is there are replaced."""
        self.remove([row.id for row in rows])  # most stores add a second one, or ignore it
        for start in range(0, len(rows), _PAGE):
            self.store.add(list(map(_node, rows[start : start + _PAGE])))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        for start in range(0, len(ids), _PAGE):
            self.store.delete_nodes(node_ids=list(ids[start : start + _PAGE]))

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


def _node(row: Row) -> TextNode:
    """Return a row as a node whose metadata no model gets: they are ours."""
    node = TextNode(
        id_=row.id,
        text=row.text,
        metadata=dict(row.metadata),
        embedding=list(row.vector or ()),
        excluded_embed_metadata_keys=list(row.metadata),
        excluded_llm_metadata_keys=list(row.metadata),
    )
    document = RelatedNodeInfo(node_id=str(row.metadata[DOCUMENT_KEY]))
    node.relationships[NodeRelationship.SOURCE] = document
    return node


def _row(node: BaseNode, score: float = 0.0) -> Row:
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    vector = node.embedding
    if vector is not None:
        vector = list(map(float, vector))
    return Row(own_row_id(node.metadata, node.node_id), text, node.metadata, score, vector)


# -- The known ones --


class _Known(LlamaIndexCollection):
    """One of the known stores."""

    def __init__(self, store: BasePydanticVectorStore, known: KnownStore) -> None:
        super().__init__(store)
        self.known = replace(known, form=replace(known.form, write=metadata_filters))

    def leaves(self, condition: Tree) -> bool | None:
        return next(iter(self.scan(condition)), None) is not None


class _Simple(_Known):
    """It keeps vectors and metadata: texts are among ours."""

    def _found(self, result: VectorStoreQueryResult) -> list[Row]:
        rows = []
        for name, score in zip(result.ids or [], result.similarities or [], strict=True):
            rows.append(self._row(name, float(score)))
        return rows

    def _row(self, name: str, score: float = 0.0) -> Row:
        metadata = self.store.data.metadata_dict.get(name, {})
        vector = self.store.data.embedding_dict[name]
        return Row(own_row_id(metadata, name), "", metadata, score, vector)

    def get(self, ids: Sequence[str]) -> list[Row]:
        return [self._row(name) for name in ids if name in self.store.data.embedding_dict]

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        del condition
        for name in list(self.store.data.embedding_dict):
            yield self._row(name)

    def leaves(self, condition: Tree) -> bool | None:
        del condition
        return None  # every search says so


class _Chroma(_Known):
    def get(self, ids: Sequence[str]) -> list[Row]:
        if not ids:
            return []  # it would return all
        return super().get(ids)

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        yield from chroma_rows(self.store.client, self._where(condition))

    def ids(self, condition: Tree) -> Iterator[str]:
        return chroma_ids(self.store.client, self._where(condition))

    def _where(self, condition: Tree | None) -> dict[str, Any] | None:
        filters = self._filters(condition)
        if filters is None:
            return None
        return _dollars(filters)


def _dollars(filters: MetadataFilters) -> dict[str, Any]:
    parts = []
    for part in filters.filters:
        if isinstance(part, MetadataFilters):
            parts.append(_dollars(part))
        else:
            name = {"==": "$eq"}.get(part.operator.value, f"${part.operator.value}")
            parts.append({part.key: {name: part.value}})
    if len(parts) == 1:
        return parts[0]
    return {f"${(filters.condition or FilterCondition.AND).value}": parts}


class _Postgres(_Known):
    """It takes a string that looks like a number for one, but in lists."""

    def __init__(self, store: BasePydanticVectorStore, known: KnownStore) -> None:
        super().__init__(store, known)
        self.known = replace(known, form=replace(known.form, write=_listed_filters))

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        filters = self._filters(condition) or MetadataFilters(filters=[])
        if not filters.filters:
            # All rows: it asks for filters or ids.
            everything = MetadataFilter(
                key="_node_type", operator=FilterOperator.NIN, value=["none"]
            )
            filters = MetadataFilters(filters=[everything])
        for node in self.store.get_nodes(filters=filters):
            yield _row(node)

    def leaves(self, condition: Tree) -> bool | None:
        filters = self._filters(condition)
        if filters is None:
            return None
        return bool(self.store.get_nodes(filters=filters))

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        query = self._query(question, limit, condition)
        statement = self.store._build_query(query.query_embedding, limit, query.filters)
        own_remedy = ""
        with self.store._session() as session:
            if self.store.hnsw_kwargs:
                own_remedy = _POSTGRES_REMEDY
                width = int(self.store.hnsw_kwargs["hnsw_ef_search"])
                sql = import_module("sqlalchemy").text
                for setting in (f"hnsw.ef_search = {width}", "enable_bitmapscan = off"):
                    session.execute(sql(f"SET LOCAL {setting}"))
            table = self.store._table_class.__table__
            return pgvector_shortcoming(session.connection(), table, statement, own_remedy)


# It sets this before every search, whatever the role has.
_POSTGRES_REMEDY = "open the store with hnsw_kwargs={{…, 'hnsw_ef_search': {width}}}"


def _listed_filters(tree: Tree) -> MetadataFilters:
    return metadata_filters(_with_lists(tree))


def _with_lists(tree: Tree) -> Tree:
    """Return a filter with lists of one in place of equality."""
    match tree:
        case All(parts) | AnyOf(parts):
            return type(tree)(tuple(map(_with_lists, parts)))
        case Comparison(key, Operator.EQ, value):
            return Comparison(key, Operator.IN, [value])
    return tree


class _Qdrant(_Known):
    def scan(self, condition: Tree | None) -> Iterator[Row]:
        filters = self._filters(condition)
        native = None
        if filters is not None:
            native = self.store._build_subfilter(filters)
        place = None
        while self._exists():
            points, place = self.store.client.scroll(
                self.store.collection_name,
                scroll_filter=native,
                limit=_PAGE,
                offset=place,
                with_vectors=True,
            )
            result = self.store.parse_to_query_result(points)
            for node in result.nodes or []:
                yield _row(node)
            if place is None:
                return

    def get(self, ids: Sequence[str]) -> list[Row]:
        if not self._exists():
            return []
        return super().get(ids)

    def remove(self, ids: Sequence[str]) -> None:
        if self._exists():
            super().remove(ids)

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        if not self._exists():
            return []
        return super().nearest(question, limit, condition)

    def metric(self) -> Metric | None:
        if not self._exists():
            return _BEFORE
        return super().metric()

    def _exists(self) -> bool:
        return bool(self.store.client.collection_exists(self.store.collection_name))


class _OpenSearch(_Known):
    def get(self, ids: Sequence[str]) -> list[Row]:
        client = self.store.client
        client._ensure_initialized()
        reply = client._os_client.mget(index=client._index, body={"ids": list(ids)})
        return self._of_hits([record for record in reply["docs"] if record.get("found")])

    def _of_hits(self, records: Sequence[Any]) -> list[Row]:
        hits = [{**record, "_score": 0.0} for record in records]
        return self._found(self.store.client._to_query_result({"hits": {"hits": hits}}))

    def _first(self, condition: Tree | None, *, size: int, **options: Any) -> Any:
        """Return the first page of the rows that meet a condition."""
        client = self.store.client
        client._ensure_initialized()
        query = None
        if condition is not None:
            query = OPENSEARCH_FORM.filter(condition)
        body = {"query": query or {"match_all": {}}, "size": size}
        return client._os_client.search(index=client._index, body=body, **options)

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        client = self.store.client
        for hit in scrolled(partial(self._first, condition), client._os_client):
            [row] = self._of_hits([hit])
            yield replace(row, vector=hit["_source"].get(client._embedding_field))

    def leaves(self, condition: Tree) -> bool | None:
        return bool(self._first(condition, size=1)["hits"]["hits"])


class _Native(_Known):
    """It takes filters in a form of its own, since it understands few of LlamaIndex's."""

    def __init__(self, store: BasePydanticVectorStore, known: KnownStore) -> None:
        super().__init__(store, known)
        self.known = known
        self._form = known.form
        self._argument = known.argument

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        options = {}
        native = self._form.filter(condition)
        if native is not None:
            options[self._argument] = native
        return self._found(self.store.query(self._query(question, limit, condition), **options))

    def _filters(self, condition: Tree | None) -> None:
        del condition

    def leaves(self, condition: Tree) -> bool | None:
        del condition
        return None  # it cannot list its rows


class _Weaviate(_Native):
    def get(self, ids: Sequence[str]) -> list[Row]:
        collection = self.store.client.collections.get(self.store.index_name)
        rows = []
        for name in ids:
            record = collection.query.fetch_object_by_id(name)
            if record is not None:
                properties = dict(record.properties)
                text = properties.pop(self.store.text_key, "")
                node = metadata_dict_to_node(properties, text=text)
                rows.append(_row(node))
        return rows


_BEFORE = LLAMA_INDEX_STORES[0].metric(None)  # the cosine, of an empty store


_CLASSES: dict[str, type[_Known]] = {
    "SimpleVectorStore": _Simple,
    "Chroma": _Chroma,
    "pgvector": _Postgres,
    "Qdrant": _Qdrant,
    "OpenSearch": _OpenSearch,
    "Elasticsearch": _Native,
    "Weaviate": _Weaviate,
}


def collection_of(store: object) -> LlamaIndexCollection:
    """Return a vector store, or that of an index, as the core searches it.

    Raises:
        InvalidInputError: It is not a vector store.
    """
    if isinstance(store, VectorStoreIndex):
        store = store.vector_store
    if not isinstance(store, BasePydanticVectorStore):
        raise InvalidInputError(
            "vectorstore must be a LlamaIndex vector store or a VectorStoreIndex, got "
            f"{type(store).__name__}"
        )
    known = known_store(store, LLAMA_INDEX_STORES)
    if known is None:
        return LlamaIndexCollection(store)
    return _CLASSES.get(known.name, _Known)(store, known)
