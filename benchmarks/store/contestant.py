"""What a store must be able to do here, and the list of those that take part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module, util
from pathlib import Path
from typing import Any, Protocol

from benchmarks.store.corpus import Batch, Corpus, Floats
from benchmarks.store.operations import Condition, Operation


class Unsupported(Exception):  # noqa: N818 - it tells what a contestant cannot do, and is no fault
    """A contestant cannot do this; the text goes into the table."""


class Contestant(Protocol):
    """A store. Answers are ids or texts of units, or ids of passages, best first; `number` reads
    them.

    Modules are imported by the constructor, so that the time to open does not count them.
    """

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        """Put everything into an empty folder; on return it is on disk, and can be searched without
        more work.
        """

    def open(self, folder: Path, corpus: Corpus) -> None:
        """Make a built folder ready."""

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> Sequence[Any]:
        """Return the k best units, of those that pass the condition."""

    def units_batch(self, queries: Floats, k: int) -> Sequence[Sequence[Any]]:
        """Do as `units` for several queries in one call."""

    def parents(self, query: Floats, k: int) -> Sequence[Any]:
        """Return the k best distinct passages."""

    def parents_batch(self, queries: Floats, k: int) -> Sequence[Sequence[Any]]:
        """Do as `parents` for several queries in one call."""

    def add(self, batch: Batch) -> None:
        """Add to an open store; on return it is on disk and found."""

    def close(self) -> None:
        """Let go of the folder."""


class OneByOne:
    """What a contestant has of batches that takes one query in a call."""

    def units_batch(self, _queries: Floats, _k: int) -> list[list[Any]]:
        reason = "no batch API"
        raise Unsupported(reason)

    def parents_batch(self, _queries: Floats, _k: int) -> list[list[Any]]:
        reason = "no batch API"
        raise Unsupported(reason)


class Entry:
    """A contestant: label, where its class is, packages to install by module, whose folder it
    opens, and what to know.

    `faults` says why no answer of some kind, "filter" or "parents", is right; the table has it
    instead of a speed.
    """

    def __init__(
        self,
        label: str,
        where: str,
        packages: dict[str, str],
        *,
        built_by: str = "",
        remark: str = "",
        faults: dict[str, str] | None = None,
    ) -> None:
        self.label = label
        self.where = where
        self.packages = packages
        self.built_by = built_by
        self.remark = remark
        self.faults = faults or {}

    def missing(self) -> list[str]:
        """Return the distributions that are not installed."""
        return [name for module, name in self.packages.items() if not _installed(module)]

    def fault(self, operation: Operation) -> str:
        """Return why the answers are never right, or "" if that is not known."""
        return self.faults.get("filter" if operation.level else operation.kind, "")

    def make(self) -> Contestant:
        module, _, name = self.where.partition(":")
        made: Contestant = getattr(import_module(f"benchmarks.store.{module}"), name)()
        return made


def _installed(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


_FAISS = {"faiss": "faiss-cpu"}
_LANGCHAIN = {
    "langchain_core": "langchain-core",
    "langchain_text_splitters": "langchain-text-splitters",
}
_COMMUNITY = _FAISS | {"langchain_community": "langchain-community"}
_LLAMA_INDEX = _FAISS | {"llama_index.core": "llama-index-core"}
_EXHAUSTIVE = "by hand: filters and parents fetch as many units as it takes"
_UNITS_ONLY = "wrong: passages of k units, not k passages"

CONTESTANTS = {
    "raw": Entry(
        "FAISS `IndexFlatIP`",
        "raw_faiss:RawFaiss",
        _FAISS,
        remark="vectors and columns of numbers only, no texts; parents and filters by hand",
    ),
    "factoid": Entry(
        "factoid `UnitStore`",
        "factoid_stores:Core",
        _FAISS,
        remark="keeps the passages' texts, too",
    ),
    "factoid-hnsw": Entry(
        "factoid `UnitStore`, HNSW32", "factoid_stores:Graph", _FAISS, remark="keeps as much"
    ),
    "factoid-codes": Entry(
        "factoid `UnitStore`, codes",
        "factoid_stores:Codes",
        _FAISS,
        remark="keeps as much; what `auto` chooses from 104,000 vectors of 384 dimensions",
    ),
    "factoid-langchain": Entry(
        "factoid `MultiGranularFAISS`",
        "factoid_stores:LangChain",
        _FAISS | _LANGCHAIN,
        remark="adding includes the splitting of documents",
    ),
    "factoid-llama-index": Entry(
        "factoid `MultiGranularFaissVectorStore`", "factoid_stores:LlamaIndex", _LLAMA_INDEX
    ),
    "langchain-community": Entry(
        "langchain-community `FAISS`",
        "community:LangChainFaiss",
        _COMMUNITY,
        remark="filters what the default `fetch_k` of 20 finds; parents as "
        "`MultiVectorRetriever` makes them of k units",
        faults={"filter": "wrong: filter after a fetch of 20", "parents": _UNITS_ONLY},
    ),
    "langchain-community-all": Entry(
        "langchain-community `FAISS`, widened",
        "community:WidenedLangChainFaiss",
        _COMMUNITY,
        built_by="langchain-community",
        remark=_EXHAUSTIVE,
    ),
    "llama-index": Entry(
        "llama-index `FaissMapVectorStore`",
        "community:LlamaIndexFaiss",
        _LLAMA_INDEX | {"llama_index.vector_stores.faiss": "llama-index-vector-stores-faiss"},
        remark="with the default document store; filters: `ValueError`",
        faults={"parents": _UNITS_ONLY},
    ),
    "chroma": Entry(
        "Chroma, persistent",
        "databases:Chroma",
        {"chromadb": "chromadb"},
        remark="HNSW, its defaults; parents of 4·k units, once",
    ),
    "lancedb": Entry(
        "LanceDB, embedded",
        "databases:LanceDB",
        {"lancedb": "lancedb"},
        remark="no index of vectors: it scans all, exactly; parents of 4·k units, once",
    ),
    "qdrant": Entry(
        "Qdrant, local mode",
        "databases:Qdrant",
        {"qdrant_client": "qdrant-client"},
        remark="parents are its groups; adding commits every unit by itself",
    ),
}
BASELINE = "raw"
