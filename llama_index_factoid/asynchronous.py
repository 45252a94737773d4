"""The asynchronous half of the vector store: each method does as its synchronous twin, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters, VectorStoreQuery

from llama_index_factoid.results import MultiGranularQueryResult


class AsyncTwins(BasePydanticVectorStore):
    """Methods that leave the event loop free: SQLite and FAISS release the interpreter while they work."""

    async def async_add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Do as `add`."""
        return await asyncio.to_thread(self.add, nodes, **options)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Do as `get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def adelete(self, ref_doc_id: str, **options: Any) -> None:
        """Do as `delete`."""
        await asyncio.to_thread(self.delete, ref_doc_id, **options)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **options: Any
    ) -> None:
        """Do as `delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **options)

    async def aclear(self) -> None:
        """Do as `clear`."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> MultiGranularQueryResult:
        """Do as `query`."""
        [result] = await self.aquery_batch([query], **options)
        return result

    async def aquery_batch(self, queries: Sequence[VectorStoreQuery], **options: Any) -> list[MultiGranularQueryResult]:
        """Do as `query_batch`."""
        return await asyncio.to_thread(self.query_batch, queries, **options)

    def query_batch(self, queries: Sequence[VectorStoreQuery], **options: Any) -> list[MultiGranularQueryResult]:
        """Return the result of each query."""
        raise NotImplementedError
