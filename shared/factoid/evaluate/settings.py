"""The settings that a comparison tries: granularities of ours, and what people use otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, get_args

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.ranking import Weights
from factoid.store.options import SearchOptions
from factoid.units import Document, Granularity, Unit, whole_number

Units = Literal["passage", "sentence", "proposition", "mixed", "chunk", "section"]

CHUNK = 500
"""Characters of a chunk, at most."""

_HEADERS = [("#" * depth, f"level {depth}") for depth in range(1, 5)]
_FINER = (Granularity.SENTENCE, Granularity.PROPOSITION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way to search a corpus.

    Attributes:
        name: Its name in tables, unlike those of other settings.
        units: What is compared with the question: a granularity, "mixed" for all three, "chunk" for
            the pieces of LangChain's `RecursiveCharacterTextSplitter`, or "section" for those of
            its `MarkdownHeaderTextSplitter`, cut to the same size.
        weights: How much the passage and words count (see `Weights`). None for the default with
            granularities of ours, and for vectors alone with chunks.
        fuse: Rank by vectors and by words, and add up reciprocal ranks, as LangChain's
            `EnsembleRetriever` does, in place of weights.
        rerank: As in `UnitStore.search`, such as "tokens".
        contexts: Embed and search passages with the sentence of context that the comparison's
            contextualizer writes for each.
        size: Most characters of a chunk.
        encoder: The name of the encoder, where there are several; "" for the first.

    Raises:
        InvalidInputError: Something is unknown, or does not go together.
    """

    name: str
    units: Units = "proposition"
    weights: Weights | None = None
    fuse: bool = False
    rerank: Any = None
    contexts: bool = False
    size: int = CHUNK
    encoder: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidInputError("a setting has no name")
        if self.units not in get_args(Units):
            raise InvalidInputError(
                f"units of {self.name!r} must be one of {', '.join(get_args(Units))}, got "
                f"{self.units!r}"
            )
        whole_number(f"size of {self.name!r}", self.size)
        SearchOptions(weights=self.weights, rerank=self.rerank)  # rejects what is no such thing
        if self.fuse and (self.rerank is not None or self.weights is not None):
            raise InvalidInputError(f"{self.name!r} fuses ranks: leave out its weights and rerank")
        if self.is_foreign and self.rerank is not None:
            raise InvalidInputError(f"{self.name!r} has chunks, which rerank does not rank")
        if self.is_foreign and self.contexts:
            raise InvalidInputError(f"{self.name!r} has chunks: contexts are of passages")

    @property
    def is_foreign(self) -> bool:
        """Whether the units are pieces of a splitter of LangChain."""
        return self.units in ("chunk", "section")

    @property
    def blend(self) -> Weights:
        """The weights that apply."""
        if self.weights is not None:
            return self.weights
        if self.is_foreign:
            return Weights(0, 0)
        return Weights()

    @property
    def vector_kinds(self) -> tuple[Granularity, ...]:
        """The granularities whose vectors a search needs.

        Chunks are passages of their own store.
        """
        if self.blend.lexical == 1 and not self.fuse:
            return ()
        if self.units in ("passage", "chunk", "section"):
            return (Granularity.PASSAGE,)
        if self.units == "mixed":
            return (Granularity.PASSAGE, *_FINER)
        finer = Granularity(self.units)
        if self.blend.passage > 0:
            return (Granularity.PASSAGE, finer)
        return (finer,)

    @property
    def needs_propositions(self) -> bool:
        """Whether passages have to be decomposed."""
        return Granularity.PROPOSITION in self.vector_kinds

    def options(self) -> dict[str, Any]:
        """Return the options of `UnitStore.search`."""
        if self.blend.lexical == 1:
            return {"lexical": 1.0}
        options: dict[str, Any] = {"granularity": self.units, "weights": self.blend}
        if self.is_foreign:
            options["granularity"] = "passage"
        if self.rerank is not None:
            options["rerank"] = self.rerank
        return options

    def record(self) -> dict[str, Any]:
        """Return what identifies the setting, as JSON holds it."""
        rerank = self.rerank
        if rerank is not None and not isinstance(rerank, str):
            rerank = str(getattr(rerank, "name", type(rerank).__name__))
        size = None
        if self.is_foreign:
            size = self.size
        return {
            "units": self.units,
            "passage": self.blend.passage,
            "lexical": self.blend.lexical,
            "fuse": self.fuse,
            "rerank": rerank,
            "contexts": self.contexts,
            "size": size,
            "encoder": self.encoder,
        }

    def code(self) -> str:
        """Return the lines of Python that apply the setting, or "" for chunks."""
        if self.is_foreign or self.fuse:
            return ""
        kinds = self.vector_kinds or (Granularity.PASSAGE,)
        names = ", ".join(f'"{kind}"' for kind in kinds)
        search = "lexical=1"
        if self.vector_kinds:
            search = f'granularity="{self.units}", weights=Weights({self.blend.passage:g}, '
            search += f"{self.blend.lexical:g})"
        if isinstance(self.rerank, str):
            search += f', rerank="{self.rerank}"'
        store_options = f"granularities=[{names}]"
        add_options = "documents"
        if self.contexts:
            store_options += ', embed_metadata=["context"]'
            add_options += ", contextualizer=contextualizer"
        return (
            f"store = UnitStore(path, encoder=encoder, {store_options})\n"
            f"store.add_documents({add_options})\n"
            f"hits = store.search(question, k=5, {search})"
        )


def can_chunk() -> bool:
    """Return whether langchain-text-splitters is installed."""
    return find_spec("langchain_text_splitters") is not None


def default_settings(size: int = CHUNK) -> list[Setting]:
    """Return the settings that are tried unless others are named, ours before chunks.

    Chunks are left out where langchain-text-splitters is not installed.
    """
    words = Weights().lexical
    alone = Weights(0, 0)
    settings = [
        Setting(name="passages", units="passage", weights=Weights(0, words)),
        Setting(name="passages + sentences", units="sentence"),
        Setting(name="passages + propositions", units="proposition"),
        Setting(name="all three", units="mixed"),
        Setting(name="words only", units="passage", weights=Weights(0, 1)),
        # Dense X Retrieval's three, of which the page says whether its findings hold here.
        Setting(name="passages by vectors", units="passage", weights=alone),
        Setting(name="sentences by vectors", units="sentence", weights=alone),
        Setting(name="propositions by vectors", units="proposition", weights=alone),
    ]
    if can_chunk():
        chunks = f"chunks of {size} characters"
        settings += [
            Setting(name=chunks, units="chunk", size=size),
            Setting(name=f"{chunks} + BM25", units="chunk", size=size, fuse=True),
        ]
    return settings


def other_settings(size: int = CHUNK) -> list[Setting]:
    """Return settings that are tried on demand.

    They are a dearer search, passages with contexts, and chunks under Markdown headers.
    """
    settings = [
        Setting(name="reranked by tokens", units="proposition", rerank="tokens"),
        Setting(name="in context", units="proposition", contexts=True),
    ]
    if can_chunk():
        sections = f"sections of {size} characters"
        settings += [
            Setting(name=sections, units="section", size=size),
            Setting(name=f"{sections} + BM25", units="section", size=size, fuse=True),
        ]
    return settings


def check_settings(
    settings: Sequence[Setting], encoders: Sequence[str], *, has_contextualizer: bool = False
) -> None:
    """Refuse settings that cannot run, before anything does.

    Args:
        settings: The settings.
        encoders: The names of the encoders.
        has_contextualizer: Whether contexts can be written.

    Raises:
        InvalidInputError: There are none, a name occurs twice, an encoder is unknown, or nothing
            writes contexts.
        MissingDependencyError: Chunks need langchain-text-splitters.
    """
    if not settings:
        raise InvalidInputError("expected at least one setting to compare, got none")
    names = [setting.name for setting in settings]
    [(name, times)] = Counter(names).most_common(1)
    if times > 1:
        raise InvalidInputError(f"two settings are called {name!r}: give each its own name")
    for setting in settings:
        if setting.encoder and setting.encoder not in encoders:
            raise InvalidInputError(
                f"{setting.name!r} names the encoder {setting.encoder!r}: expected one of "
                f"{', '.join(encoders)}"
            )
        if setting.is_foreign:
            require("langchain_text_splitters", extra="langchain")
        if setting.contexts and not has_contextualizer:
            raise InvalidInputError(
                f"{setting.name!r} needs contexts: give compare a contextualizer, or the command "
                "line the name of a chat model, --model NAME"
            )


# -- Units of other splitters --


def chunks(documents: Sequence[Document], units: str, size: int) -> list[Unit]:
    """Return the pieces of LangChain's splitters as passages, with their place in the document.

    They do not overlap: a word that two pieces of a context hold would be counted twice.

    Args:
        documents: The corpus.
        units: "chunk" or "section", as in `Setting`.
        size: Most characters of a piece.
    """
    library = require("langchain_text_splitters", extra="langchain")
    splitter = library.RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0)
    headers = library.MarkdownHeaderTextSplitter(_HEADERS)
    pieces = []
    for document in documents:
        texts = [document.text]
        if units == "section":
            texts = [section.page_content for section in headers.split_text(document.text)]
        at = 0
        for text in texts:
            for piece in splitter.split_text(text):
                start, at = _place(document.text, piece, at)
                pieces.append(
                    Unit("", piece, Granularity.PASSAGE, document.id, document.id, start, at)
                )
    return pieces


def _place(text: str, piece: str, at: int) -> tuple[int, int]:
    """Return the span of a piece; by its first and last lines where white space was changed."""
    start = text.find(piece, at)
    if start >= 0:
        return start, start + len(piece)
    lines = [line.strip() for line in piece.splitlines() if line.strip()]
    start = max(text.find(lines[0], at), at)
    end = text.find(lines[-1], start)
    return start, max(end + len(lines[-1]), start + 1)
