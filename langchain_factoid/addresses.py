"""Vector stores by address, such as `postgresql://host/database#collection`, for commands."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from langchain_core.vectorstores import VectorStore

from factoid.framework import (
    GRANULARITY_KEY,
    PASSAGE_KEY,
    Encoder,
    InvalidInputError,
    MissingDependencyError,
)
from langchain_factoid.embeddings import EncoderEmbeddings

_COLLECTION = "factoid"


def vectorstore_at(address: str, encoder: Encoder, dim: int | None) -> VectorStore:
    """Open the vector store at an address, with vectors that are compared by their cosine.

    A collection that does not exist is made.

    Args:
        address: As in docs/scale.md: the scheme names the store, what follows "#" the collection.
        encoder: What its vectors are made by.
        dim: Their dimension; None if the collection exists.

    Raises:
        InvalidInputError: The address names no store that is known.
        MissingDependencyError: The store's package is not installed.
    """
    parts = urlsplit(address)
    if parts.scheme not in _STORES:
        raise InvalidInputError(
            f"{parts.scheme}:// is not the address of a vector store: expected {known_addresses()}"
        )
    collection = parts.fragment or _COLLECTION
    return _STORES[parts.scheme](parts, collection, EncoderEmbeddings(encoder), dim)


def known_addresses() -> str:
    """Return the schemes of addresses, in words."""
    *others, last = (f"{scheme}://" for scheme in _STORES)
    return f"{', '.join(others)} or {last}"


def _pgvector(
    parts: SplitResult, collection: str, embeddings: EncoderEmbeddings, dim: int | None
) -> VectorStore:
    module = _package("langchain_postgres")
    address = parts._replace(scheme="postgresql+psycopg", fragment="").geturl()
    store: VectorStore = module.PGVector(
        embeddings, connection=address, collection_name=collection, embedding_length=dim
    )
    return store


def _milvus(
    parts: SplitResult, collection: str, embeddings: EncoderEmbeddings, dim: int | None
) -> VectorStore:
    module = _package("langchain_milvus")
    connection: dict[str, Any] = {"uri": _place(parts)}
    if parts.port is not None and parts.path.strip("/"):
        connection["db_name"] = parts.path.strip("/")
    if dim is not None:
        make_milvus_collection(connection, collection, dim)
    store: VectorStore = module.Milvus(
        embeddings,
        collection,
        connection_args=connection,
        index_params=_HNSW,
        enable_dynamic_field=True,
    )
    return store


_HNSW = {
    "index_type": "HNSW",
    "metric_type": "COSINE",
    "params": {"M": 16, "efConstruction": 200},
}
_MOST_BYTES = 65_535  # of a string


def make_milvus_collection(
    connection: dict[str, Any], collection: str, dim: int, *, of_strings: str = "INVERTED"
) -> None:
    """Make a collection in which what every search filters by has an index, if there is none yet.

    Fields that are not declared are compared row by row. `of_strings` is the kind of these indexes:
    servers before 2.4 have "Trie".
    """
    milvus = _package("pymilvus")
    client = milvus.MilvusClient(**connection)
    try:
        if client.has_collection(collection):
            return
        kinds = milvus.DataType
        schema = client.create_schema(enable_dynamic_field=True)
        schema.add_field("pk", kinds.VARCHAR, max_length=36, is_primary=True)
        schema.add_field("text", kinds.VARCHAR, max_length=_MOST_BYTES)
        schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dim)
        indexes = client.prepare_index_params()
        indexes.add_index("vector", **_HNSW)
        for name in (GRANULARITY_KEY, PASSAGE_KEY):
            schema.add_field(name, kinds.VARCHAR, max_length=_MOST_BYTES)
            indexes.add_index(name, index_type=of_strings)
        client.create_collection(collection, schema=schema, index_params=indexes)
    finally:
        client.close()


def _chroma(
    parts: SplitResult, collection: str, embeddings: EncoderEmbeddings, _dim: int | None
) -> VectorStore:
    module = _package("langchain_chroma")
    place: dict[str, Any] = {"persist_directory": _place(parts)}
    if parts.port is not None:
        place = {"host": parts.hostname, "port": parts.port}
    store: VectorStore = module.Chroma(
        collection, embeddings, collection_configuration={"hnsw": {"space": "cosine"}}, **place
    )
    return store


def _qdrant(
    parts: SplitResult, collection: str, embeddings: EncoderEmbeddings, dim: int | None
) -> VectorStore:
    module = _package("langchain_qdrant")
    qdrant = _package("qdrant_client")
    models = _package("qdrant_client.models")
    if parts.port is None:
        client = qdrant.QdrantClient(path=_place(parts))
    else:
        client = qdrant.QdrantClient(url=_place(parts))
    if dim is not None and not client.collection_exists(collection):
        vectors = models.VectorParams(size=dim, distance=models.Distance.COSINE)
        client.create_collection(collection, vectors)
    store: VectorStore = module.QdrantVectorStore(
        client, collection, embeddings, validate_collection_config=False
    )
    return store


def _place(parts: SplitResult) -> str:
    """Return the address of a server, which has a port, or the whole path of a folder or file.

    Clients know what they have open by its path: after a change of the working directory, the same
    relative one would be the folder of before.
    """
    if parts.port is not None:
        return f"http://{parts.netloc}"
    return str(Path(parts.netloc + parts.path).absolute())


def _package(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise MissingDependencyError(
            f"{error.name!r} is not installed. Run: pip install {package}"
        ) from error


_STORES: dict[str, Callable[[SplitResult, str, EncoderEmbeddings, int | None], VectorStore]] = {
    "postgresql": _pgvector,
    "milvus": _milvus,
    "chroma": _chroma,
    "qdrant": _qdrant,
}
