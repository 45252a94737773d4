"""Named entities from a spaCy pipeline as mentions of articles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from factoid.entities.articles.names import canonical_title
from factoid.entities.mention import Mention
from factoid.units import check_text

if TYPE_CHECKING:
    from spacy.language import Language


class SpacyLinker:
    """Takes the entities of a spaCy pipeline: by the title of their identifier, else by their text.

    Args:
        nlp: A pipeline that sets `doc.ents`.
        titles: Maps an entity's identifier to the title of its article, or a function that returns
            None for unknown ones. The identifier is `ent.kb_id_` (such as "Q937"), or else
            `ent.ent_id_`, the "id" of an EntityRuler's pattern.
        labels: The entity types to take, such as {"PERSON", "GPE"}; None takes all.
    """

    def __init__(
        self,
        nlp: Language,
        titles: Mapping[str, str | None] | Callable[[str], str | None] | None = None,
        *,
        labels: Collection[str] | None = None,
    ) -> None:
        self.nlp = nlp
        self.labels = labels
        self._titles = titles if callable(titles) else (titles or {}).get

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a text, in its order and without overlap."""
        check_text(text)
        mentions = []
        for entity in self.nlp(text).ents:
            if self.labels is None or entity.label_ in self.labels:
                identifier = entity.kb_id_ or entity.ent_id_
                title = None
                if identifier:
                    title = self._titles(identifier)
                title = title or entity.text
                mentions.append(Mention(entity.start_char, entity.end_char, canonical_title(title)))
        return mentions
