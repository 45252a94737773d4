"""A LlamaIndex vector store that searches nodes at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import DEFAULT_VECTOR_STORE, NAMESPACE_SEP
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PERSIST_FNAME,
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from factoid.errors import EncoderMismatchError, InvalidInputError, StoreFormatError
from factoid.search import most_diverse
from factoid.store import GRANULARITIES, UnitStore
from factoid.units import Granularity, Hit
from llama_index_factoid.filters import compile_filters, compile_query
from llama_index_factoid.records import IDS, to_match, to_node, to_units, to_vector

Kind = Literal["passage", "sentence", "proposition"]
Returns = Literal["parents", "units"]
