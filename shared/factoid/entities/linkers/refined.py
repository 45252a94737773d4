"""The mentions that a ReFinED model finds (https://github.com/amazon-science/ReFinED)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from factoid.entities.articles.names import canonical_title
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.units import check_text


class RefinedLinker:
    """Links with a ReFinED model, which is not on PyPI: load it as its authors say, and pass it.

    Spans without a Wikipedia title (dates, quantities, entities that only Wikidata knows) are left out; of spans that overlap,
    the surer one stays.

    Args:
        model: A `refined.inference.processor.Refined`, or what has its `process_text`: from a text to spans with `start`,
            `ln`, `predicted_entity.wikipedia_entity_title` and `entity_linking_model_confidence_score`. A
            `process_text_batch`, where there is one, takes many texts at once.

    Raises:
        InvalidInputError: The model has no `process_text`.
    """

    def __init__(self, model: Any) -> None:
        if not callable(getattr(model, "process_text", None)):
            message = f"a ReFinED model has process_text, which {type(model).__name__} has not"
            raise InvalidInputError(message)
        self.model = model

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a text, in its order and without overlap."""
        check_text(text)
        return _mentions(text, self.model.process_text(text)) if text.strip() else []

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text.

        Raises:
            InvalidInputError: The model returned more or fewer results than there are texts that are not blank.
        """
        process = getattr(self.model, "process_text_batch", None)
        if process is None:
            return [self.link(text) for text in texts]
        for text in texts:
            check_text(text)
        filled = [text for text in texts if text.strip()]
        documents = list(process(filled)) if filled else []
        if len(documents) != len(filled):
            message = f"{type(self.model).__name__} returned {len(documents)} results for {len(filled)} texts"
            raise InvalidInputError(message)
        spans = (getattr(document, "spans", None) for document in documents)
        return [_mentions(text, next(spans)) if text.strip() else [] for text in texts]


def _mentions(text: str, spans: Iterable[Any] | None) -> list[Mention]:
    linked = []
    for span in spans or ():
        title = canonical_title(getattr(span.predicted_entity, "wikipedia_entity_title", None) or "")
        start, end = int(span.start), min(int(span.start) + int(span.ln), len(text))
        if title and start < end:
            score = getattr(span, "entity_linking_model_confidence_score", None)
            linked.append(Mention(start, end, title, 1.0 if score is None else min(1.0, max(1e-6, float(score)))))
    mentions: list[Mention] = []
    for mention in sorted(linked, key=lambda mention: (-mention.score, mention.start)):
        if all(mention.end <= surer.start or mention.start >= surer.end for surer in mentions):
            mentions.append(mention)
    return sorted(mentions, key=lambda mention: mention.start)
