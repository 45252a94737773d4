"""LlamaIndex node parsers that cut documents into passages, sentences and propositions."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict, Unpack

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, SerializeAsAny
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.llms import LLM
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document
from pydantic import AfterValidator

from factoid.framework import (
    WORDS,
    Decomposition,
    Granularity,
    InvalidInputError,
    ModelKwargs,
    Policy,
    Propositionizer,
    Report,
    SentenceSplitter,
    SyntaxPropositionizer,
    Unit,
    assemble,
    check_metadata_keys,
    check_names,
    decompose,
    merge_threshold,
    option_names,
    progress_bar,
    split_names,
    split_passages,
    split_sentences,
    tracked,
    whole_passage,
    with_cache,
)
from llama_index_factoid.convert import GranularityName, to_core, to_nodes
from llama_index_factoid.llm import LLMPropositionizer

_BLOCK = 256  # passages for one call of the propositionizer


class ParserKwargs(TypedDict, total=False):
    """The options of `MultiGranularNodeParser` besides the propositionizer and its cache."""

    granularities: Sequence[GranularityName]
    embed_metadata: Sequence[str]
    words: int
    min_words: int | None
    join_paragraphs: bool
    unsupported: Policy
    chunker: NodeParser | None
    sentences: SentenceSplitter | None
    window: int | Literal["passage"] | None
    propositionizer_name: str
    progress: bool | None
    include_metadata: bool
    include_prev_next_rel: bool
    callback_manager: CallbackManager
    id_func: Callable[[int, BaseNode], str]


class FromModelKwargs(ModelKwargs, ParserKwargs, total=False):
    """The options of `MultiGranularNodeParser.from_llm`."""

    cache: str | Path | None


class MultiGranularNodeParser(NodeParser):
    """Cuts documents into passages, sentences and propositions.

    They are for `MultiGranularFaissVectorStore`. Passages come before their sentences and
    propositions. The text of a passage or sentence is the document's from `start_char_idx` to
    `end_char_idx`; a proposition is rewritten text, with the span of its source. A passage whose
    decomposition fails is replaced by its sentences, and a sentence that no proposition covers is
    added unchanged, both with `fallback` in their metadata; `last_report` counts them.

    A document's title is `metadata["title"]`, else its first heading; headings become the section.
    Models get both with the text, as "title — section: text", or by the framework's templates if
    they also get other metadata. Ids are made from the document's id and the content. SOURCE is the
    document, PARENT the passage or, without it, the node that was cut; PREVIOUS and NEXT link nodes
    of one granularity. If the input is itself a node cut from a document, character indices count
    the document's text, or are None if the node does not say where it stands.

    Attributes:
        propositionizer: As in `factoid.UnitStore.add_documents`, like the next five.
        words: Up to so many words sentences are packed into a passage.
        min_words: A paragraph's last passage with fewer words is merged into the one before; by
            default half of `words`, but at most 50.
        join_paragraphs: Whether short paragraphs of a section become one passage.
        unsupported: What to do with propositions that their passage does not support.
        sentences: Finds the ends of sentences.
        granularities: What to return, some of "passage", "sentence" and "proposition".
        embed_metadata: Keys of the documents' metadata that are embedded with the text and searched
            by words: ["product"] for documents that differ in these only. By default no metadata is
            embedded but title and section. A store takes the list from the first nodes, and refuses
            nodes that were made with another one.
        cache: A file, made if absent, that keeps what the propositionizer returns, or the folder of
            a store. The worker processes of a pipeline share it.
        window: Put the text around each node into its metadata under `window`, and its own under
            `original_text`, for LlamaIndex's `MetadataReplacementPostProcessor`: a number of
            sentences before and after, or "passage".
        chunker: Another node parser or splitter, whose chunks are the passages; `words` and
            `min_words` are not used. A chunk keeps its id and relationships; relations of sentences
            and propositions do not cross chunks.
        progress: As in `factoid.UnitStore`; the framework's `show_progress=True` shows a bar, too.

    The fields of the framework's `NodeParser` are options, too; `id_func` is not used.

    Raises:
        InvalidInputError: `words` or `min_words` is out of range; on use, if a text cannot be used.
        StoreError: On use, if the cache cannot be opened, read or written.
    """

    model_config = ConfigDict(extra="forbid")

    granularities: tuple[GranularityName, ...] = Field(
        default=("passage", "proposition"), min_length=1
    )
    embed_metadata: Annotated[tuple[str, ...], AfterValidator(check_metadata_keys)] = ()
    words: int = WORDS
    min_words: int | None = None
    join_paragraphs: bool = True
    unsupported: Policy = "drop"
    chunker: SerializeAsAny[NodeParser] | None = None
    window: Annotated[int, Field(ge=0)] | Literal["passage"] | None = None
    sentences: SentenceSplitter | None = Field(default=None, exclude=True, repr=False)
    propositionizer: Propositionizer | None = Field(default=None, exclude=True, repr=False)
    cache: str | None = Field(default=None, exclude=True)
    progress: bool | None = Field(default=None, exclude=True)
    propositionizer_name: str = Field(
        default="", description="Name and version, as a part of the keys of caches."
    )
    _last_report: Report | None = PrivateAttr(default=None)

    def __init__(
        self,
        propositionizer: Propositionizer | None = None,
        *,
        cache: str | Path | None = None,
        **fields: Unpack[ParserKwargs],
    ) -> None:
        check_names(type(self).__name__, fields, type(self).model_fields.keys() | {"class_name"})
        merge_threshold(fields.get("words", WORDS), fields.get("min_words"))
        # Kept in pickles.
        fields.setdefault("propositionizer_name", _name(propositionizer or SyntaxPropositionizer()))
        values: dict[str, Any] = {
            **fields,
            "propositionizer": propositionizer,
            "cache": cache and str(cache),
        }
        super().__init__(**values)

    @classmethod
    def from_defaults(
        cls,
        propositionizer: Propositionizer | None = None,
        *,
        cache: str | Path | None = None,
        **fields: Unpack[ParserKwargs],
    ) -> Self:
        """Return a parser, as LlamaIndex's own parsers do; the options are those of the class."""
        return cls(propositionizer, cache=cache, **fields)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return cls.__name__

    @classmethod
    def from_llm(
        cls, llm: LLM, *, model: str | None = None, **options: Unpack[FromModelKwargs]
    ) -> Self:
        """Return a node parser whose propositions come from a LlamaIndex LLM.

        Options are those of `LLMPropositionizer` and those of this class; another one is refused.
        """
        check_names(f"{cls.__name__}.from_llm", options, option_names(FromModelKwargs) | {"model"})
        llm_options, parser_options = split_names(option_names(ModelKwargs), options)
        return cls(LLMPropositionizer(llm, model=model, **llm_options), **parser_options)

    @property
    def last_report(self) -> Report | None:
        """The report on the latest call that has ended; None before the first."""
        return self._last_report

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        chunks = nodes if self.chunker is None else self.chunker(nodes, show_progress=show_progress)
        show = show_progress or self.progress
        read = tracked(chunks, show=show, unit=" documents", desc="splitting")
        cuts = list(map(self._passages, read))
        kinds = list(map(Granularity, self.granularities))
        passages = []
        if Granularity.PROPOSITION in kinds:
            for cut in cuts:
                passages += cut
        decomposition = Decomposition()
        propositionizer = self._ready()
        with progress_bar(
            show=show, unit=" passages", total=len(passages), desc="cutting into propositions"
        ) as bar:
            for start in range(0, len(passages), _BLOCK):
                block = passages[start : start + _BLOCK]
                decomposition += decompose(block, propositionizer, unsupported=self.unsupported)
                bar.update(len(block))
        self._last_report = decomposition.report
        propositions: dict[str, list[Unit]] = defaultdict(list)
        for unit in decomposition.units:
            propositions[unit.parent_id].append(unit)
        parsed: list[BaseNode] = []
        for node, cut in zip(chunks, cuts, strict=True):
            units: list[Unit] = []
            for passage in cut:
                units += assemble([passage], propositions[passage.id], kinds)
            units = [unit for unit in units if unit.granularity in kinds]
            windows = None
            if self.window is not None:
                windows = _windows(to_core(node).text, cut, units, self.window)
            parsed += to_nodes(
                node,
                units,
                include_metadata=self.include_metadata,
                include_prev_next_rel=self.include_prev_next_rel,
                embed_metadata=self.embed_metadata,
                windows=windows,
            )
        return parsed

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress)

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        """Leave the nodes as they are.

        The framework would look for their texts, and misplace repeated ones.
        """
        del parent_doc_map
        return nodes

    def _passages(self, node: BaseNode) -> list[Unit]:
        """Return the passages of a node; a chunk of a chunker is its own passage."""
        document = to_core(node)
        if self.chunker is None:
            return split_passages(
                document,
                words=self.words,
                min_words=self.min_words,
                join_paragraphs=self.join_paragraphs,
                sentences=self.sentences,
            )
        if document.text.strip():
            return [replace(whole_passage(document), id=document.id)]
        return []

    def _ready(self) -> Propositionizer:
        propositionizer = self.propositionizer or SyntaxPropositionizer()
        if _name(propositionizer) != self.propositionizer_name:
            raise InvalidInputError(
                f"the propositionizer {self.propositionizer_name!r} of this parser cannot be "
                "pickled for the workers of a pipeline: run the pipeline without num_workers"
            )
        return with_cache(propositionizer, self.cache)


class PassageNodeParser(MultiGranularNodeParser):
    """Cuts documents into passages of whole sentences (Dense X Retrieval, Appendix A)."""

    granularities: tuple[GranularityName, ...] = ("passage",)


class PropositionNodeParser(MultiGranularNodeParser):
    """Cuts documents into propositions (Dense X Retrieval, §2). PARENT is the node that was cut."""

    granularities: tuple[GranularityName, ...] = ("proposition",)


def _windows(
    text: str, passages: Sequence[Unit], units: Sequence[Unit], size: int | Literal["passage"]
) -> dict[str, str]:
    """Return the text around units by id.

    It is that of their passage, or `size` sentences before and after.
    """
    if size == "passage":
        by_id = {passage.id: passage.text for passage in passages}
        return {unit.id: by_id.get(unit.parent_id, unit.text) for unit in units}
    sentences = []
    for passage in passages:
        sentences += split_sentences(passage)
    starts = [sentence.start for sentence in sentences]
    ends = [sentence.end for sentence in sentences]
    windows = {}
    for unit in units:
        first = max(bisect_right(ends, unit.start) - size, 0)
        last = min(max(bisect_left(starts, unit.end) - 1, 0) + size, len(sentences) - 1)
        windows[unit.id] = (
            text[min(starts[first], unit.start) : max(ends[last], unit.end)]
            if sentences
            else unit.text
        )
    return windows


def _name(propositionizer: Propositionizer) -> str:
    return str(getattr(propositionizer, "name", type(propositionizer).__qualname__))
