"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings.utils import resolve_embed_model
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery

from factoid.errors import InvalidInputError
from llama_index_factoid.convert import with_own_fields
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore, MultiGranularQueryResult, Returns
