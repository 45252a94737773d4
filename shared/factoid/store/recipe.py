"""The recipe by which documents become units, and the digest that tells whether it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from factoid.heading_template import EMBED_TEMPLATE
from factoid.propositions import Propositionizer
from factoid.propositions.contextualizer import Contextualizer
from factoid.propositions.decompose import Policy
from factoid.split import WORDS, merge_threshold
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, content_id


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units (see `UnitStore.add_documents`).

    Part of a document's digest, as it changes the result.
    """

    granularities: Sequence[Granularity]  # besides passages, which are always made
    propositionizer: Propositionizer | None = None  # None makes no propositions
    words: int = WORDS
    min_words: int | None = None  # for half of the words, but at most 50
    join_paragraphs: bool = True
    unsupported: Policy = "drop"
    template: str = EMBED_TEMPLATE
    sentences: SentenceSplitter | None = None  # None for the rules of `factoid.text.sentence_ends`
    contextualizer: Contextualizer | None = None  # None writes no contexts

    @property
    def merge_threshold(self) -> int:
        """Below how many words a passage is merged."""
        return merge_threshold(self.words, self.min_words)

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of this recipe."""
        content = [
            document.id,
            document.text,
            document.title,
            document.section,
            dict(document.metadata),
        ]
        options = [
            list(self.granularities),
            component_name(self.propositionizer),
            self.words,
            self.merge_threshold,
            self.join_paragraphs,
            self.unsupported,
            self.template,
        ]
        if self.sentences is not None:
            options.append(component_name(self.sentences))
        if self.contextualizer is not None:
            options.append({"contextualizer": self.contextualizer.name})
        return content_id(*content, *options)


def component_name(component: object) -> str:
    """Return the name of a propositionizer or splitter, or that of its class."""
    return getattr(component, "name", type(component).__qualname__)
