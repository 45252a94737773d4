"""Re-export all that `langchain_factoid` and `llama_index_factoid` take from the core.

An adapter for another framework finds here what it needs: the store and its options, documents into
units, metadata of results, and helpers that keep the adapters alike. import-linter holds them
to it.
"""

from __future__ import annotations

from factoid._optional import require
from factoid.documents import (
    LayoutDocument,
    Region,
    SummaryReport,
    asummarize_tables,
    read_layout,
    summarize_tables,
)
from factoid.documents import clean as clean_layout
from factoid.documents.document import KINDS as PART_KINDS
from factoid.documents.document import PartKind
from factoid.documents.read import Loaded, read_loaded
from factoid.documents.word_boxes import LAYOUT as LAYOUT_KEY
from factoid.documents.word_boxes import cut_boxes, regions_in
from factoid.encode import (
    Encoder,
    TokenVectorEncoder,
    Vectors,
    portable_name,
    to_matrix,
    token_vector_encoder,
)
from factoid.entities.articles.own_documents import (
    BuildingKwargs,
    add_own_articles,
    build_own_articles,
)
from factoid.entities.articles.store import ArticleStore
from factoid.entities.mention import EntityLinker
from factoid.entities.retriever import (
    Ambiguous,
    EntityHit,
    EntityKwargs,
    EntityRetriever,
    with_fallback,
)
from factoid.errors import (
    EncoderMismatchError,
    InvalidInputError,
    MissingDependencyError,
    StoreFormatError,
    check_list,
    check_names,
    shown,
)
from factoid.evaluate.texts import check_measure, is_of_answers, measure_answer, measure_texts
from factoid.existing import LANGCHAIN as LANGCHAIN_STORES
from factoid.existing import LLAMA_INDEX as LLAMA_INDEX_STORES
from factoid.existing import (
    Answer,
    Collection,
    ExistingSearchKwargs,
    ExistingStore,
    ExistingStoreKwargs,
    Form,
    KnownStore,
    Metric,
    Question,
    Row,
    known_store,
)
from factoid.existing.collection import chroma_ids, chroma_rows, scrolled
from factoid.existing.conditions import QUERY as OPENSEARCH_FORM
from factoid.existing.contract import DOCUMENT as DOCUMENT_KEY
from factoid.existing.contract import GRANULARITY as GRANULARITY_KEY
from factoid.existing.contract import ID as ID_KEY
from factoid.existing.contract import PASSAGE as PASSAGE_KEY
from factoid.existing.contract import own_id as own_row_id
from factoid.existing.contract import row_id, scoped_row_id
from factoid.existing.pgvector import shortcoming as pgvector_shortcoming
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.sqlite import FILE as DATABASE_FILE
from factoid.filters import (
    All,
    AnyOf,
    Comparison,
    Filter,
    Not,
    Operator,
    Tree,
    matches,
    parse_filter,
    too_deep,
)
from factoid.heading_template import (
    EMBED_TEMPLATE,
    check_metadata_keys,
    check_template,
    split_heading,
    with_heading,
    with_metadata,
)
from factoid.late_interaction import (
    AnyGranularityRanker,
    CitationFields,
    CitedSentence,
    PropCite,
    SpanHit,
)
from factoid.late_interaction.citations import citation_fields
from factoid.metadata import (
    KIND,
    WINDOW,
    MatchFields,
    hit_fields,
    match_fields,
    plain_metadata,
    text_field,
    with_fields,
)
from factoid.named_options import option_names, split_names, split_options
from factoid.progress import Progress, progress_bar, tracked
from factoid.propositions import (
    Decomposition,
    Propositionizer,
    Report,
    SyntaxPropositionizer,
    adecompose,
    decompose,
)
from factoid.propositions.cache import Cache
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.decompose import Policy
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.requests import (
    ChatKwargs,
    ChatPropositionizer,
    ModelKwargs,
    Reply,
)
from factoid.ranking import Weights
from factoid.readers.reader import ChatReader, ReaderKwargs
from factoid.split import WORDS, merge_threshold, seen_text, split_passages, split_sentences
from factoid.store import GRANULARITIES, UnitStore
from factoid.store.database.schema import local_folder
from factoid.store.document_units import assemble, whole_passage
from factoid.store.ingest import AddReport
from factoid.store.options import (
    BY_TOKENS,
    CommonSearchKwargs,
    IndexKwargs,
    ParentsOption,
    RankedParents,
    Reranker,
    SearchOptions,
    StoreKwargs,
)
from factoid.store.sources import AUTO as SOURCE_AUTO
from factoid.text.markup import MARKUP_KEYS
from factoid.text.sentence_ends import SentenceSplitter
from factoid.tools import (
    AROUND_FIELD,
    ID_FIELD,
    IS_DATA,
    QUESTION_FIELD,
    READ_DESCRIPTION,
    SEARCH_DESCRIPTION,
    START_FIELD,
    as_text,
    flat_metadata,
    numbered_document,
    read_more,
)
from factoid.units import DEPTH, Document, Granularity, Hit, Unit, check_size, check_text

__all__ = [
    "AROUND_FIELD",
    "BY_TOKENS",
    "DATABASE_FILE",
    "DEFAULT_LIMITS",
    "DEPTH",
    "DOCUMENT_KEY",
    "EMBED_TEMPLATE",
    "GRANULARITIES",
    "GRANULARITY_KEY",
    "ID_FIELD",
    "ID_KEY",
    "IS_DATA",
    "KIND",
    "LANGCHAIN_STORES",
    "LAYOUT_KEY",
    "LLAMA_INDEX_STORES",
    "MARKUP_KEYS",
    "OPENSEARCH_FORM",
    "PART_KINDS",
    "PASSAGE_KEY",
    "QUESTION_FIELD",
    "READ_DESCRIPTION",
    "SEARCH_DESCRIPTION",
    "SOURCE_AUTO",
    "START_FIELD",
    "WINDOW",
    "WORDS",
    "AddReport",
    "All",
    "Ambiguous",
    "Answer",
    "AnyGranularityRanker",
    "AnyOf",
    "ArticleStore",
    "BuildingKwargs",
    "Cache",
    "ChatKwargs",
    "ChatPropositionizer",
    "ChatReader",
    "CitationFields",
    "CitedSentence",
    "Collection",
    "CommonSearchKwargs",
    "Comparison",
    "Decomposition",
    "Document",
    "Encoder",
    "EncoderMismatchError",
    "EntityHit",
    "EntityKwargs",
    "EntityLinker",
    "EntityRetriever",
    "ExistingSearchKwargs",
    "ExistingStore",
    "ExistingStoreKwargs",
    "Filter",
    "Form",
    "Granularity",
    "Hit",
    "IndexKwargs",
    "InvalidInputError",
    "KnownStore",
    "LayoutDocument",
    "Loaded",
    "MatchFields",
    "Metric",
    "MissingDependencyError",
    "ModelKwargs",
    "Not",
    "Operator",
    "ParentsOption",
    "PartKind",
    "Policy",
    "Progress",
    "PropCite",
    "Propositionizer",
    "Question",
    "RankedParents",
    "ReadLimits",
    "ReaderKwargs",
    "Region",
    "Reply",
    "Report",
    "Reranker",
    "Row",
    "SearchOptions",
    "SentenceSplitter",
    "SpanHit",
    "StoreFormatError",
    "StoreKwargs",
    "SummaryReport",
    "SyntaxPropositionizer",
    "TokenVectorEncoder",
    "Tree",
    "Unit",
    "UnitStore",
    "Usage",
    "Vectors",
    "Weights",
    "add_own_articles",
    "adecompose",
    "as_text",
    "assemble",
    "asummarize_tables",
    "build_own_articles",
    "check_list",
    "check_measure",
    "check_metadata_keys",
    "check_names",
    "check_size",
    "check_template",
    "check_text",
    "chroma_ids",
    "chroma_rows",
    "citation_fields",
    "clean_layout",
    "cut_boxes",
    "decompose",
    "flat_metadata",
    "hit_fields",
    "is_of_answers",
    "known_store",
    "local_folder",
    "match_fields",
    "matches",
    "measure_answer",
    "measure_texts",
    "merge_threshold",
    "numbered_document",
    "option_names",
    "own_row_id",
    "parse_filter",
    "pgvector_shortcoming",
    "plain_metadata",
    "portable_name",
    "progress_bar",
    "read_layout",
    "read_loaded",
    "read_more",
    "regions_in",
    "require",
    "row_id",
    "scoped_row_id",
    "scrolled",
    "seen_text",
    "shown",
    "split_heading",
    "split_names",
    "split_options",
    "split_passages",
    "split_sentences",
    "summarize_tables",
    "text_field",
    "to_matrix",
    "token_vector_encoder",
    "too_deep",
    "tracked",
    "whole_passage",
    "with_cache",
    "with_fallback",
    "with_fields",
    "with_heading",
    "with_metadata",
]
