"""LlamaIndex node parsers that cut documents into passages, sentences and propositions."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import default_id_func
from llama_index.core.schema import BaseNode, Document
from llama_index.core.utils import get_tqdm_iterable

from factoid.errors import InvalidInputError
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.caching.choose import acaching, caching
from factoid.propositions.decompose import Policy
from factoid.propositions.prompting.chat import split_options
from factoid.split import split_passages, split_sentences
from factoid.units import Unit
from llama_index_factoid.convert import Kind, to_core, to_nodes
from llama_index_factoid.propositionizer import LLMPropositionizer

_BATCH = 256  # passages decomposed together: one step of the progress bar


class UnitNodeParser(NodeParser):
    """What both parsers share; subclasses say which granularities they return."""

    model_config = ConfigDict(extra="forbid")

    words: int = Field(default=100, description="Most words of a passage.")
    min_words: int = Field(
        default=50, description="A paragraph's last passage below this is merged into the one before."
    )
    unsupported: Policy = Field(default="drop", description="What becomes of propositions that have no support.")
    propositionizer: Propositionizer | None = Field(default=None, exclude=True, repr=False)
    cache: str | None = Field(default=None, exclude=True, description="File that keeps the propositions.")
    propositionizer_name: str = Field(default="", description="Name and version, as a part of the keys of caches.")
    _last_report: Report | None = PrivateAttr(default=None)

    def __init__(
        self,
        propositionizer: Propositionizer | None = None,
        *,
        words: int = 100,
        min_words: int = 50,
        unsupported: Policy = "drop",
        cache: str | Path | None = None,
        **fields: Any,
    ) -> None:
        name = _name(propositionizer or _default())
        saved = fields.setdefault("propositionizer_name", name)
        if saved != name:
            message = (
                f"this parser was saved with the propositionizer {saved!r} and got {name!r}: "
                "give it the same one again, as in from_dict(data, propositionizer=...)"
            )
            raise InvalidInputError(message)
        fields |= {"words": words, "min_words": min_words, "unsupported": unsupported, "cache": cache and str(cache)}
        super().__init__(**fields | {"propositionizer": propositionizer})

    @classmethod
    def from_llm(cls, llm: LLM, **options: Any) -> Self:
        """Return a node parser whose propositions come from a LlamaIndex LLM.

        Args:
            llm: The LLM.
            **options: Those of `LLMPropositionizer` and those of this class.

        Raises:
            InvalidInputError: See the two classes.
            TypeError: An option that neither has.
        """
        own, rest = split_options(LLMPropositionizer, options)
        return cls(LLMPropositionizer(llm, **own), **rest)

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Return a parser from what `to_dict` gave. Objects and functions are to be given again, as keywords.

        Raises:
            InvalidInputError: The parser was saved with another propositionizer than is given.
        """
        unset = {"id_func_name": default_id_func.__name__, "title": "id_func"}  # how the framework saves the default
        return super().from_dict({key: value for key, value in data.items() if value != unset}, **kwargs)

    @property
    def last_report(self) -> Report | None:
        """What became of the passages of the latest call that has ended; None before the first."""
        return self._last_report

    @abstractmethod
    def _kinds(self) -> Sequence[str]:
        """Return the granularities wanted."""

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        passages = self._split(nodes, show_progress)
        with caching(self._ready(), self.cache, show_progress=show_progress) as propositionizer:
            done = [
                decompose(batch, propositionizer, unsupported=self.unsupported)
                for batch in get_tqdm_iterable(self._batches(passages), show_progress, "Decomposing passages")
            ]
        return self._assemble(nodes, passages, done)

    async def _aparse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        passages = await asyncio.to_thread(self._split, nodes, show_progress)
        ready = await asyncio.to_thread(self._ready)
        async with acaching(ready, self.cache, show_progress=show_progress) as propositionizer:
            done = [
                await adecompose(batch, propositionizer, unsupported=self.unsupported)
                for batch in get_tqdm_iterable(self._batches(passages), show_progress, "Decomposing passages")
            ]
        return await asyncio.to_thread(self._assemble, nodes, passages, done)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        """Leave the nodes as they are: the framework would look for their texts, and misplace repeated ones."""
        del parent_doc_map
        return nodes

    def _split(self, nodes: Sequence[BaseNode], show_progress: bool) -> list[list[Unit]]:
        return [
            split_passages(to_core(node), words=self.words, min_words=self.min_words)
            for node in get_tqdm_iterable(nodes, show_progress, "Splitting documents")
        ]

    def _batches(self, passages: Sequence[Sequence[Unit]]) -> list[list[Unit]]:
        wanted = [unit for units in passages for unit in units] if "proposition" in self._kinds() else []
        size = _BATCH if self.cache is None else max(1, len(wanted))  # processes divide what one call is given
        return [wanted[start : start + size] for start in range(0, len(wanted), size)]

    def _ready(self) -> Propositionizer:
        # Pickling, as for the workers of a pipeline, leaves an object behind that cannot be pickled.
        propositionizer: Propositionizer = self.__dict__.get("propositionizer") or _default()
        if _name(propositionizer) != self.propositionizer_name:
            message = (
                f"the propositionizer {self.propositionizer_name!r} cannot be pickled and did not come along to this "
                "process: run the pipeline without num_workers"
            )
            raise InvalidInputError(message)
        return propositionizer

    def _assemble(
        self, nodes: Sequence[BaseNode], passages: Sequence[Sequence[Unit]], done: Sequence[Decomposition]
    ) -> list[BaseNode]:
        propositions: dict[str, dict[str, Unit]] = defaultdict(dict)  # by passage and id: equal inputs give equal units
        for unit in (unit for decomposition in done for unit in decomposition.units):
            propositions[unit.parent_id][unit.id] = unit
        self._last_report = sum((decomposition.report for decomposition in done), Report())
        kinds = self._kinds()
        made: list[BaseNode] = []
        for node, own in zip(nodes, passages, strict=True):
            units: list[Unit] = []
            for passage in own:
                units += [passage] if "passage" in kinds else []
                units += split_sentences(passage) if "sentence" in kinds else []
                units += propositions[passage.id].values()
            made += to_nodes(
                node,
                units,
                id_func=None if self.id_func is default_id_func else self.id_func,
                include_metadata=self.include_metadata,
                include_prev_next_rel=self.include_prev_next_rel,
            )
        return made


class PropositionNodeParser(UnitNodeParser):
    """Cuts documents into propositions: distinct, minimal and self-contained facts (Dense X Retrieval, §2).

    A proposition is rewritten text; `start_char_idx` and `end_char_idx` are the source that it came from. A passage
    whose decomposition fails gives its sentences, and a sentence that no proposition covers is added as it stands, both
    with `fallback` in their metadata; `last_report` counts them.

    A document's title is `metadata["title"]`, else its first heading; headings become the section. Ids are made from
    the document's id and the content, unless `id_func` is given. SOURCE is the document, PARENT the node that was cut,
    PREVIOUS and NEXT its propositions in order. Given a node that was cut from a document, char indices count the
    document's text, and are None if the node does not say where it stands there.

    Args:
        propositionizer: Any object with a `propositionize` method; None for `SyntaxPropositionizer`.
        words: Most words of a passage, which is what a propositionizer reads at once.
        min_words: A paragraph's last passage below this is merged into the one before.
        unsupported: "drop", "keep" or "sentence", as in `factoid.propositionize`.
        cache: A file, made if absent, that keeps what the propositionizer returns, or the folder of a store: a run that
            was killed or has a few new documents asks it only what is new. The worker processes of a pipeline share it.
        include_metadata: Inherit the metadata of documents.
        include_prev_next_rel: Set PREVIOUS and NEXT.
        id_func: Makes an id from the position of a node and the node it was cut from.
        callback_manager: The framework's.

    Raises:
        InvalidInputError: On use, if `words` or `min_words` is out of range or a text cannot be used.
        StoreError: On use, if the cache cannot be opened, read or written.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "PropositionNodeParser"

    def _kinds(self) -> Sequence[str]:
        return ("proposition",)


class MultiGranularNodeParser(UnitNodeParser):
    """Cuts documents into passages and these into sentences and propositions, for `MultiGranularFaissVectorStore`.

    Every passage comes before its sentences and its propositions; their PARENT is the passage, and PREVIOUS and NEXT
    link nodes of one granularity. A passage's and a sentence's text is the document's from `start_char_idx` to
    `end_char_idx`. Everything else is as in `PropositionNodeParser`.

    Args:
        propositionizer: Any object with a `propositionize` method; None for `SyntaxPropositionizer`.
        granularities: What to return, some of "passage", "sentence" and "proposition".
        **fields: As in `PropositionNodeParser`.
    """

    granularities: tuple[Kind, ...] = Field(min_length=1, description="What to return.")

    def __init__(
        self,
        propositionizer: Propositionizer | None = None,
        *,
        granularities: Sequence[Kind] = ("passage", "sentence", "proposition"),
        **fields: Any,
    ) -> None:
        super().__init__(propositionizer, **fields | {"granularities": granularities})

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "MultiGranularNodeParser"

    def _kinds(self) -> Sequence[str]:
        return self.granularities


def _default() -> Propositionizer:
    from factoid.propositions.syntax import SyntaxPropositionizer

    return SyntaxPropositionizer()


def _name(propositionizer: Propositionizer) -> str:
    return str(getattr(propositionizer, "name", type(propositionizer).__qualname__))
