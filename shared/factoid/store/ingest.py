"""Documents into all their units, in batches that a store commits whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from factoid.errors import InvalidInputError
from factoid.propositions import Decomposition, Propositionizer, Report, decompose
from factoid.propositions.decompose import Policy
from factoid.split import split_passages, split_sentences
from factoid.units import Document, Granularity, Unit, content_id

# Passages decomposed, encoded and committed together: what an interrupted run has to do again at most.
_BATCH = 256


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `UnitStore.add_documents` did. Reports add up.

    Attributes:
        documents: Documents added or replaced.
        unchanged: Documents that were in the store as given, and were left alone.
        units: Units added, by granularity.
        decomposition: What became of the passages in the propositionizer.
    """

    documents: int = 0
    unchanged: int = 0
    units: Mapping[Granularity, int] = field(default_factory=dict)
    decomposition: Report = field(default_factory=Report)

    def __add__(self, other: AddReport) -> AddReport:
        kinds = [kind for kind in Granularity if kind in self.units or kind in other.units]
        return AddReport(
            self.documents + other.documents,
            self.unchanged + other.unchanged,
            {kind: self.units.get(kind, 0) + other.units.get(kind, 0) for kind in kinds},
            self.decomposition + other.decomposition,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units. Part of a document's digest: another recipe is another result."""

    granularities: tuple[Granularity, ...]
    propositionizer: Propositionizer | None
    words: int = 100
    min_words: int = 50
    unsupported: Policy = "drop"

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of what this recipe would make of it."""
        content = [document.id, document.text, document.title, document.section, dict(document.metadata)]
        name = getattr(self.propositionizer, "name", type(self.propositionizer).__qualname__)
        policy = [] if self.unsupported == "drop" else [self.unsupported]  # as in stores made before there was a choice
        return content_id(*content, self.granularities, name, self.words, self.min_words, *policy)

    def units(self, passages: Sequence[Unit]) -> tuple[list[Unit], Decomposition]:
        """Return passages, sentences and propositions, as far as wanted; parents come before children."""
        units = list(passages)
        decomposition = Decomposition()
        if Granularity.SENTENCE in self.granularities:
            units += [sentence for passage in passages for sentence in split_sentences(passage)]
        if Granularity.PROPOSITION in self.granularities and self.propositionizer is not None:
            decomposition = decompose(passages, self.propositionizer, unsupported=self.unsupported)
            units += decomposition.units
        return units, decomposition


@dataclass(frozen=True, slots=True)
class Split:
    """A document, the digest of its content and recipe, and its passages."""

    document: Document
    digest: str
    passages: list[Unit]


def batches(documents: Iterable[Document], recipe: Recipe) -> Iterator[list[Split]]:
    """Split documents and group them by a few hundred passages. Of equal ids in a group the last document counts.

    Raises:
        InvalidInputError: Something else than a `Document`.
    """
    batch: dict[str, Split] = {}
    size = 0
    for document in documents:
        if not isinstance(document, Document):
            message = f"expected factoid.Document, got {type(document).__name__}"
            raise InvalidInputError(message)
        passages = split_passages(document, words=recipe.words, min_words=recipe.min_words)
        batch[document.id] = Split(document, recipe.digest(document), passages)
        size += len(passages)
        if size >= _BATCH:
            yield list(batch.values())
            batch, size = {}, 0
    if batch:
        yield list(batch.values())
