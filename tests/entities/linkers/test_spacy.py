from __future__ import annotations

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Span

from factoid.entities.linkers.spacy import SpacyLinker
from factoid.entities.linkers.titles import TitleLinker
from factoid.errors import InvalidInputError
from tests.entities.linkers.stores import glossary, links

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


@pytest.fixture
def store():
    with glossary("Albert Einstein", "Ulm", "Bern", "1905", "Atlantis") as store:
        yield store


def test_identifiers_only(nlp):
    assert links(SpacyLinker(nlp, titles={"Q937": "Albert_E.", "Q0": None}), TEXT) == {"Einstein": "Albert E."}
    assert links(SpacyLinker(nlp, titles=lambda name: f"x{name}"), TEXT) == {"Einstein": "XQ937", "Atlantis": "XQ0"}


def test_identifiers_then_texts(nlp, store):
    places = {"Einstein": "Albert Einstein", "Ulm": "Ulm", "Bern": "Bern", "Atlantis": "Atlantis"}
    for looked_up in (store, TitleLinker(store)):
        assert links(SpacyLinker(nlp, looked_up), TEXT) == {**places, "1905": "1905"}
    linker = SpacyLinker(nlp, store, {"Q0": "Atlantis (myth)"}, labels=["PERSON", "GPE"])
    assert list(links(linker, TEXT).values()) == ["Albert Einstein", "Ulm", "Bern", "Atlantis (myth)"]
    assert linker.link_batch([TEXT, "", "nothing"]) == [linker.link(TEXT), [], []]


def test_identifiers_of_an_entity_ruler(store):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "PERSON", "pattern": "Albert", "id": "einstein"}, {"label": "GPE", "pattern": "Bern", "id": "other"}]
    )
    linker = SpacyLinker(nlp, store, {"einstein": "Albert Einstein"})
    assert links(linker, "Was Albert in Bern?") == {"Albert": "Albert Einstein", "Bern": "Bern"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a store"),
        ({"store": "articles.sqlite"}, r"got 'articles.sqlite'.*ArticleStore\(path\)"),
        ({"titles": {}, "labels": "PERSON"}, r"got the string 'PERSON': give \['PERSON'\]"),
        ({"titles": {}, "nlp": "en_core_web_sm"}, "spaCy pipeline, got 'en_core_web_sm'.*spacy.load"),
    ],
)
def test_arguments_that_cannot_be(nlp, options, message):
    with pytest.raises(InvalidInputError, match=message):
        SpacyLinker(**{"nlp": nlp, **options})
