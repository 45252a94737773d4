"""Retrieval at the right granularity, native in LlamaIndex."""

from factoid.framework import require

# Before all else, so that a missing package is one error with the line that installs it.
require("llama_index.core", extra="llama-index")

from llama_index_factoid.citations import (  # noqa: E402 - after the check above
    PropCiteQueryEngine,
    citations_of,
    cited_message,
)
from llama_index_factoid.convert import matches_of, span_of  # noqa: E402
from llama_index_factoid.documents import (  # noqa: E402 - after the check above
    DocumentIntelligenceNodeParser,
    DocumentIntelligenceReader,
    regions_of,
)
from llama_index_factoid.embeddings import EncoderEmbedding, LlamaIndexEncoder  # noqa: E402
from llama_index_factoid.entity_retriever import EntityRetriever  # noqa: E402
from llama_index_factoid.evaluators import AnswerEvaluator, TextMetric  # noqa: E402
from llama_index_factoid.llm import LLMPropositionizer, LLMReader  # noqa: E402
from llama_index_factoid.node_parser import (  # noqa: E402
    MultiGranularNodeParser,
    PassageNodeParser,
    PropositionNodeParser,
)
from llama_index_factoid.postprocessor import AnyGranularityRerank  # noqa: E402
from llama_index_factoid.retriever import MultiGranularRetriever  # noqa: E402
from llama_index_factoid.tools import nodes_of, read_tool, search_tool  # noqa: E402
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore  # noqa: E402

__all__ = [
    "AnswerEvaluator",
    "AnyGranularityRerank",
    "DocumentIntelligenceNodeParser",
    "DocumentIntelligenceReader",
    "EncoderEmbedding",
    "EntityRetriever",
    "LLMPropositionizer",
    "LLMReader",
    "LlamaIndexEncoder",
    "MultiGranularFaissVectorStore",
    "MultiGranularNodeParser",
    "MultiGranularRetriever",
    "PassageNodeParser",
    "PropCiteQueryEngine",
    "PropositionNodeParser",
    "TextMetric",
    "citations_of",
    "cited_message",
    "matches_of",
    "nodes_of",
    "read_tool",
    "regions_of",
    "search_tool",
    "span_of",
]
