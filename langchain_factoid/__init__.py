"""Retrieval at the right granularity, native in LangChain."""

from factoid.framework import require

# Before all else, so that a missing package is one error with the line that installs it.
require("langchain_core", extra="langchain")
require("langchain_text_splitters", extra="langchain")

from langchain_factoid.chat_model import (  # noqa: E402 - after the check above
    ChatModelPropositionizer,
    ChatModelReader,
)
from langchain_factoid.citations import (  # noqa: E402
    PropCiteRunnable,
    citations_of,
    cited_message,
)
from langchain_factoid.convert import matches_of, with_headings  # noqa: E402
from langchain_factoid.documents import DocumentIntelligenceTransformer, regions_of  # noqa: E402
from langchain_factoid.embeddings import EncoderEmbeddings, LangChainEncoder  # noqa: E402
from langchain_factoid.entity_retriever import EntityRetriever  # noqa: E402
from langchain_factoid.evaluators import evaluator  # noqa: E402
from langchain_factoid.reranker import AnyGranularityReranker  # noqa: E402
from langchain_factoid.retriever import MultiGranularRetriever  # noqa: E402
from langchain_factoid.text_splitter import (  # noqa: E402
    PassageTextSplitter,
    PropositionTextSplitter,
)
from langchain_factoid.tools import documents_of, read_tool, search_tool  # noqa: E402
from langchain_factoid.vector_store import MultiGranularFAISS  # noqa: E402

__all__ = [
    "AnyGranularityReranker",
    "ChatModelPropositionizer",
    "ChatModelReader",
    "DocumentIntelligenceTransformer",
    "EncoderEmbeddings",
    "EntityRetriever",
    "LangChainEncoder",
    "MultiGranularFAISS",
    "MultiGranularRetriever",
    "PassageTextSplitter",
    "PropCiteRunnable",
    "PropositionTextSplitter",
    "citations_of",
    "cited_message",
    "documents_of",
    "evaluator",
    "matches_of",
    "read_tool",
    "regions_of",
    "search_tool",
    "with_headings",
]
