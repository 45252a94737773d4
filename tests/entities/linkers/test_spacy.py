from __future__ import annotations

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Span

from factoid.entities.linkers.spacy import SpacyLinker
from tests.entities.linkers.stores import links

ENTITIES = {
    "Einstein": ("PERSON", "Q937"),
    "the Ulm": ("GPE", "NIL"),
    "Bern": ("GPE", ""),
    "Atlantis": ("GPE", "Q0"),
    "1905": ("DATE", ""),
}
TEXT = "When did Einstein leave the Ulm for Bern or Atlantis, in 1905? 😀"


@Language.component("entities_of_the_test")
def find_entities(doc):
    spans = []
    for form, (label, identifier) in ENTITIES.items():
        if (at := doc.text.find(form)) >= 0:
            spans.append(doc.char_span(at, at + len(form), label=label, kb_id=identifier))
    doc.set_ents([span for span in spans if isinstance(span, Span)])
    return doc


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("entities_of_the_test")
    return nlp


def test_titles_of_identifiers_then_texts(nlp):
    titles = {"Q937": "Albert_Einstein", "Q0": None}
    texts = {"the Ulm": "The Ulm", "Bern": "Bern", "Atlantis": "Atlantis"}
    expected = {"Einstein": "Albert Einstein", **texts, "1905": "1905"}
    assert (
        links(SpacyLinker(nlp, titles), TEXT)
        == links(SpacyLinker(nlp, titles.get), TEXT)
        == expected
    )
    assert links(SpacyLinker(nlp, titles, labels={"GPE"}), TEXT) == texts
    assert links(SpacyLinker(nlp), TEXT)["Einstein"] == "Einstein"


def test_identifiers_of_an_entity_ruler():
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "PERSON", "pattern": "Albert", "id": "einstein"},
            {"label": "GPE", "pattern": "Bern", "id": "other"},
        ]
    )
    linker = SpacyLinker(nlp, {"einstein": "Albert Einstein"})
    assert links(linker, "Was Albert in Bern?") == {"Albert": "Albert Einstein", "Bern": "Bern"}
