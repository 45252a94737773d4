"""Cut documents into passages, and put sentences and propositions under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from factoid.propositions.contextualizer import CONTEXT, Contextualizer, checked_contexts
from factoid.split import seen_text, split_passages, split_sentences
from factoid.store.recipe import Recipe
from factoid.units import Document, Granularity, Unit, child_unit


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document, the digest of its content and recipe, and its passages."""

    document: Document
    digest: str
    passages: list[Unit]


def split_document(document: Document, recipe: Recipe) -> list[Unit]:
    """Return the passages of a document."""
    passages = split_passages(
        document,
        words=recipe.words,
        min_words=recipe.min_words,
        join_paragraphs=recipe.join_paragraphs,
        sentences=recipe.sentences,
    )
    if not passages and document.text.strip():
        passages = [whole_passage(document)]  # only headings or front matter: it can still be found
    return passages


def whole_passage(document: Document) -> Unit:
    """Return a document as one passage."""
    return child_unit(
        document,
        document.text,
        Granularity.PASSAGE,
        0,
        len(document.text),
        visible=seen_text(document.text, document.metadata),
    )


def assemble(
    passages: Sequence[Unit], propositions: Sequence[Unit], granularities: Sequence[Granularity]
) -> list[Unit]:
    """Return passages with the units under them, each id once; parents come before their children.

    A passage without a unit of a wanted granularity, such as a table, is its own child at that
    granularity, so that searches at it also find the passage.
    """
    units = {unit.id: unit for unit in passages}
    for granularity in (Granularity.SENTENCE, Granularity.PROPOSITION):
        if granularity not in granularities:
            continue
        children = list(propositions)
        if granularity is Granularity.SENTENCE:
            children = []
            for passage in passages:
                children += split_sentences(passage)
        parents = {unit.parent_id for unit in children}
        for passage in passages:
            if passage.id not in parents:
                children += own_children(passage, [granularity])
        for unit in children:
            units[unit.id] = unit
    return list(units.values())


def own_children(passage: Unit, granularities: Sequence[Granularity]) -> list[Unit]:
    """Return a passage as a unit under itself at each of these granularities except its own.

    White space has none.
    """
    if not passage.text.strip():
        return []
    children = []
    for granularity in granularities:
        if granularity is not passage.granularity:
            child = child_unit(
                passage,
                passage.text,
                granularity,
                passage.start,
                passage.end,
                visible=passage.visible,
            )
            children.append(child)
    return children


def with_contexts(
    units: Sequence[Unit], batch: Iterable[SplitDocument], contextualizer: Contextualizer | None
) -> list[Unit]:
    """Return units, the passages among them with their contexts in the metadata."""
    if contextualizer is None:
        return list(units)
    contexts: dict[str, str] = {}
    for split in batch:
        texts = checked_contexts(contextualizer, split.document, split.passages)
        for passage, text in zip(split.passages, texts, strict=True):
            contexts[passage.id] = text
    contextual = []
    for unit in units:
        if contexts.get(unit.id):
            unit = replace(unit, metadata={**unit.metadata, CONTEXT: contexts[unit.id]})
        contextual.append(unit)
    return contextual
