"""Named entities from a spaCy pipeline as mentions of articles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factoid.entities.articles.names import canonical_title
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.units import check_text

if TYPE_CHECKING:
    from spacy.language import Language

_NO_ENTITY = ("", "NIL")  # identifiers by spaCy's entity linker for an entity that its knowledge base lacks


class SpacyLinker:
    """Links the entities of a spaCy pipeline: by the identifier that its entity linker found, else by their text.

    Args:
        nlp: A pipeline that sets `doc.ents`.
        store: Articles, or a `TitleLinker` of them, in which an entity's text is looked up if its identifier has no title.
            None leaves such entities out.
        titles: Maps an entity's identifier to the title of its article, or a function that returns None for unknown ones.
            The identifier is `ent.kb_id_` (such as "Q937"), or else `ent.ent_id_`, the "id" of an EntityRuler's pattern.
        labels: The entity types to take, such as {"PERSON", "GPE"}; None takes all.

    Raises:
        InvalidInputError: Neither `store` nor `titles` is given, or an argument is of another type.
    """

    def __init__(
        self,
        nlp: Language,
        store: ArticleStore | TitleLinker | None = None,
        titles: Mapping[str, str | None] | Callable[[str], str | None] | None = None,
        *,
        labels: Sequence[str] | None = None,
    ) -> None:
        if store is None and titles is None:
            raise InvalidInputError("SpacyLinker needs a store to look entities up in, or titles by their identifiers")
        if not callable(nlp):
            raise InvalidInputError(f"nlp must be a spaCy pipeline, got {nlp!r}: load one with spacy.load(name)")
        if not isinstance(store, ArticleStore | TitleLinker | None):
            raise InvalidInputError(
                f"store must be an article store or a TitleLinker, got {store!r}: open one by ArticleStore(path)"
            )
        if isinstance(labels, str):
            raise InvalidInputError(f"labels must be several types, got the string {labels!r}: give [{labels!r}]")
        self.nlp = nlp
        self.labels = None if labels is None else frozenset(labels)
        self._linker = TitleLinker(store) if isinstance(store, ArticleStore) else store
        self._titles = titles if callable(titles) else (titles or {}).get

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a text, in its order and without overlap."""
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, read by the pipeline in batches."""
        for text in texts:
            check_text(text)
        return [self._mentions(document) for document in self.nlp.pipe(list(texts))]

    def _mentions(self, document: Any) -> list[Mention]:
        mentions, untitled = [], []
        for entity in document.ents:
            if self.labels is not None and entity.label_ not in self.labels:
                continue
            identifier = entity.kb_id_ or entity.ent_id_
            title = None if identifier in _NO_ENTITY else self._titles(identifier)
            if title:
                mentions.append(Mention(entity.start_char, entity.end_char, canonical_title(title)))
            else:
                untitled.append((entity.start_char, entity.end_char))
        if self._linker is not None:
            mentions += self._linker.link_spans(document.text, untitled)
        return sorted(mentions, key=lambda mention: mention.start)
