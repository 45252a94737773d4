from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from factoid.entities.linkers.refined import RefinedLinker
from factoid.entities.mention import BatchEntityLinker, Mention
from factoid.errors import InvalidInputError


@dataclass
class Entity:
    wikipedia_entity_title: str | None


@dataclass
class Span:
    text: str
    start: int
    ln: int
    predicted_entity: Entity | None
    entity_linking_model_confidence_score: float | None


@dataclass
class Doc:
    spans: list[Span] | None


TITLES = {"England": ("England", 0.9), "Cup": ("FIFA_World Cup", None), "1966": (None, 0.8), "FIFA Cup": ("FIFA", 0.2)}


class Model:
    """Finds the words of the table, in the shapes of ReFinED's records."""

    def process_text(self, text):
        spans = [
            Span(form, match.start(), len(form), Entity(title), score)
            for form, (title, score) in TITLES.items()
            for match in re.finditer(form, text)
        ]
        return [*spans, *(Span("day", match.start(), 3, None, None) for match in re.finditer("day", text))]


class BatchModel(Model):
    def process_text_batch(self, texts):
        assert all(text.strip() for text in texts)
        return [Doc(self.process_text(text) or None) for text in texts]


TEXT = "In 1966, that day, England won the FIFA Cup."
MENTIONS = [Mention(19, 26, "England", 0.9), Mention(40, 43, "FIFA World Cup", 1.0)]


@pytest.mark.parametrize("model", [Model(), BatchModel()])
def test_spans(model):
    linker = RefinedLinker(model)
    assert linker.link(TEXT) == MENTIONS
    assert linker.link_batch([TEXT, " ", "", "none", TEXT]) == [MENTIONS, [], [], [], MENTIONS]
    assert linker.link_batch(["", " "]) == [[], []]
    assert isinstance(linker, BatchEntityLinker)


@pytest.mark.parametrize(("score", "expected"), [(1.5, 1.0), (-0.2, 1e-6), (None, 1.0), (0.25, 0.25)])
def test_scores(score, expected):
    class One:
        def process_text(self, text):
            return [Span("a", 0, 9, Entity("A"), score)]

    (mention,) = RefinedLinker(One()).link("abc")
    assert (mention.end, mention.score) == (3, expected)


def test_what_is_no_model():
    with pytest.raises(InvalidInputError, match="process_text, which str has not"):
        RefinedLinker("wikipedia_model")


@pytest.mark.parametrize("returned", [1, 3])
def test_another_number_of_results_than_texts(returned):
    class Careless(Model):
        def process_text_batch(self, texts):
            return (Doc([]) for _ in range(returned))

    message = f"Careless returned {returned} results for 2 texts"
    with pytest.raises(InvalidInputError, match=message):
        RefinedLinker(Careless()).link_batch(["one", "", "two"])
