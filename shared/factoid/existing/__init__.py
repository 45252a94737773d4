"""Multi-granular retrieval over a vector store that one has.

See docs/existing-stores.md: the metadata contract, and the table of known stores.
"""

from factoid.existing.collection import Collection, Question
from factoid.existing.conditions import Form
from factoid.existing.contract import Row, to_unit
from factoid.existing.known import LANGCHAIN, LLAMA_INDEX, KnownStore, Metric, known_store
from factoid.existing.search import Answer
from factoid.existing.store import ExistingSearchKwargs, ExistingStore, ExistingStoreKwargs

__all__ = [
    "LANGCHAIN",
    "LLAMA_INDEX",
    "Answer",
    "Collection",
    "ExistingSearchKwargs",
    "ExistingStore",
    "ExistingStoreKwargs",
    "Form",
    "KnownStore",
    "Metric",
    "Question",
    "Row",
    "known_store",
    "to_unit",
]
