"""The core retriever: entities in order, their articles, the first words of those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from unittest.mock import Mock

import pytest

from factoid import Document, Granularity, Hit
from factoid.entities import (
    AnnotatedLinker,
    ArticleStore,
    EntityHit,
    EntityRetriever,
    Mention,
    build_own_articles,
)
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Unit
from tests.entities.rivers import ARVE, RIVERS

OTHER = Hit(
    Unit("", "Rivers run.", Granularity.PASSAGE, document_id="d", parent_id="d", start=0, end=11),
    0.25,
)


@pytest.fixture(scope="module")
def articles() -> Iterator[ArticleStore]:
    with build_own_articles(RIVERS) as store:
        yield store


def titles(hits: list[Hit]) -> list[str]:
    return [hit.unit.title for hit in hits]


def test_first_words_of_the_articles_in_order_of_the_question(articles: ArticleStore) -> None:
    question = "Does the Kembs Canal, or Arva, freeze?"
    canal, arve = EntityRetriever(articles, words=8).retrieve(question)
    assert (canal.unit.title, canal.unit.text) == (
        "Kembs Canal",
        "A canal\n\nbetween two   rivers.",
    )
    assert (arve.unit.title, arve.unit.text) == ("Arve", "The Arve rises at a pass in the")
    assert (arve.unit.granularity, arve.unit.metadata["length"]) == (Granularity.DOCUMENT, 107)
    assert isinstance(arve, EntityHit)
    assert question[arve.mention.start : arve.mention.end] == arve.named == "Arva"
    assert 0 < arve.score <= 1


def test_an_entity_is_retrieved_once_and_those_without_article_are_passed_over(
    articles: ArticleStore,
) -> None:
    text = "Arve Nile Arva Canal"
    spans = [
        Mention(0, 4, "Arve"),
        Mention(5, 9, "Nile"),
        Mention(10, 14, "arva"),
        Mention(15, 20, "Kembs_Canal"),
    ]
    retriever = EntityRetriever(articles, AnnotatedLinker({text: spans}))
    assert titles(retriever.retrieve(text)) == ["Arve", "Kembs Canal"]


def test_the_order_of_the_text_does_not_depend_on_the_linker(articles: ArticleStore) -> None:
    text = "Is the Arve above the Kembs Canal?"
    mentions = [
        Mention(22, 33, "Kembs Canal"),
        Mention(0, len(text), "Rhine"),
        Mention(7, 11, "Arve"),
    ]
    for order in permutations(mentions):
        linker = Mock(link=Mock(return_value=list(order)))
        found = titles(EntityRetriever(articles, linker).retrieve(text))
        assert found[:2] == ["Arve", "Kembs Canal"]
        assert titles(EntityRetriever(articles, linker, k=1).retrieve(text)) == ["Arve"]


def test_the_fallback_is_asked_only_where_nothing_is_found(articles: ArticleStore) -> None:
    fallback = Mock(return_value=[OTHER])
    retriever = EntityRetriever(articles, k=3, fallback=fallback)
    assert titles(retriever.retrieve("How long is the Arve?")) == ["Arve"]
    assert retriever.retrieve("How long is a river?") == [OTHER]
    fallback.assert_called_once_with("How long is a river?", 3)
    assert EntityRetriever(articles).retrieve("Why is water wet?") == []


def test_hybrid_puts_entities_first_and_keeps_k(articles: ArticleStore) -> None:
    more = [Hit(replace(OTHER.unit, id=text, text=text), 9.0) for text in ("Ice", "Fog")]
    retriever = EntityRetriever(articles, k=2, fallback=lambda *_: more, hybrid=True)
    arve, *others = retriever.retrieve("How long is the Arve?")
    assert arve.unit.title == "Arve"
    assert others == more[:1]
    again = EntityRetriever(articles, k=3, fallback=lambda *_: [arve, *more], hybrid=True)
    assert again.retrieve("How long is the Arve?") == [arve, *more]


def test_a_fallback_may_have_all_of_what_was_cut() -> None:
    whole = Hit(
        replace(OTHER.unit, id="tern", text="It lies in the north. It has nine arches."), 0.1
    )
    with build_own_articles([Document(whole.unit.text, "Tern", id="tern")]) as store:
        retriever = EntityRetriever(store, words=5, fallback=lambda *_: [whole, whole], hybrid=True)
        assert titles(retriever.retrieve("How many arches has the Tern?")) == ["Tern", ""]
        assert titles(retriever.retrieve("How many arches has the Tern?", words=50)) == ["Tern"]


def test_a_filter_holds_for_all_that_a_fallback_returns() -> None:
    def of(tenant: str) -> Unit:
        return replace(
            OTHER.unit, id=tenant, text=f"It rains in the {tenant}.", metadata={"tenant": tenant}
        )

    north, south = of("north"), of("south")
    hits = [
        *(Hit(unit, 1.0) for unit in (south, OTHER.unit, north)),
        Hit(replace(north, text="A match."), 1.0, (Hit(south, 1.0),)),
        Hit(replace(north, text="A neighbour."), 1.0, neighbours=(south,)),
        Hit(
            replace(north, text="A match's neighbour."),
            1.0,
            (Hit(north, 1.0, neighbours=(south,)),),
        ),
    ]
    article = Document("North pays.", "Refund", id="refund", metadata={"tenant": "north"})
    with build_own_articles([article]) as store:
        for options in (
            {"filter": {"tenant": "north"}},
            {"filter": lambda metadata: metadata.get("tenant") == "north"},
        ):
            retriever = EntityRetriever(
                store, fallback=lambda *_: hits, hybrid=True, k=9, **options
            )
            assert [hit.unit.text for hit in retriever.retrieve("A refund?")] == [
                "North pays.",
                north.text,
            ]
            assert [
                hit.unit for hit in retriever.retrieve("Rain?", filter={"tenant": "south"})
            ] == [south]
        assert len(EntityRetriever(store, fallback=lambda *_: hits, k=9).retrieve("Rain?")) == len(
            hits
        )


@pytest.mark.parametrize(
    ("ambiguous", "expected"),
    [
        ("first", ["Sorne (north)", "Arve"]),
        ("all", ["Sorne (north)", "Arve", "Sorne (south)"]),
        ("skip", ["Arve"]),
    ],
)
def test_ambiguous_mentions(articles: ArticleStore, ambiguous: str, expected: list[str]) -> None:
    hits = EntityRetriever(articles, ambiguous=ambiguous).retrieve(
        "Is the Sorne longer than the Arve?"
    )
    assert [hit.mention.title for hit in hits] == titles(hits) == expected


@pytest.mark.parametrize("granularity", ["passage", "sentence", "proposition"])
def test_best_units_instead_of_first_words(articles: ArticleStore, granularity: str) -> None:
    script = ScriptedPropositionizer(
        lambda passage: [part + "." for part in passage.text.rstrip(".").split(". ")]
    )
    options = {
        "granularity": granularity,
        "encoder": HashEncoder(),
        "propositionizer": script,
        "words": 8,
    }
    [hit] = EntityRetriever(articles, **options).retrieve(
        "When was timber floated on the Arve until?"
    )
    whole = " ".join(ARVE.split()[:8])
    assert hit.unit.text == (
        whole if granularity == "passage" else "Timber was floated on it until 1902."
    )
    assert [match.unit.granularity for match in hit.matches] == [granularity]


def test_best_units_stand_in_order_of_the_article_and_within_the_budget(
    articles: ArticleStore,
) -> None:
    retriever = EntityRetriever(articles, granularity="sentence", encoder=HashEncoder(), words=19)
    [hit] = retriever.retrieve("Was timber floated on the grey Arve in June?")
    assert (
        hit.unit.text == "It is grey with rock flour in June. Timber was floated on it until 1902."
    )
    scores = [match.score for match in hit.matches]
    assert scores == sorted(scores, reverse=True)


def test_k_and_words_of_one_call(articles: ArticleStore) -> None:
    retriever = EntityRetriever(articles, fallback=lambda _, k: [OTHER] * k, hybrid=True)
    question = "Does the Kembs Canal reach the Arve?"
    assert [hit.unit.text for hit in retriever.retrieve(question, k=1, words=3)] == [
        "A canal\n\nbetween"
    ]
    assert len(retriever.retrieve(question, k=3)) == 3
    with pytest.raises(InvalidInputError, match="words must be at least 1, got 0"):
        retriever.retrieve(question, words=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 0}, "words must be at least 1, got 0"),
        ({"k": "2"}, "k must be a whole number, got '2'"),
        ({"ambiguous": "guess"}, "ambiguous must be one of first, all, skip, got 'guess'"),
        ({"hybrid": True}, "give fallback="),
        ({"granularity": "page"}, "unknown granularity 'page'"),
        ({"granularity": "sentence"}, "needs an encoder"),
    ],
)
def test_options_that_cannot_be(
    articles: ArticleStore, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EntityRetriever(articles, **options)  # type: ignore[arg-type]


def test_questions_that_cannot_be(articles: ArticleStore) -> None:
    with pytest.raises(InvalidInputError, match="question must be a str, got int"):
        EntityRetriever(articles).retrieve(3)  # type: ignore[arg-type]


def test_the_filter_of_a_call_replaces_the_retrievers(articles: ArticleStore) -> None:
    retriever = EntityRetriever(articles, filter={"length": 107})
    question = "Does the Kembs Canal reach the Arve?"
    assert titles(retriever.retrieve(question)) == ["Arve"]
    assert titles(retriever.retrieve(question, filter={"score": "high"})) == ["Kembs Canal"]


def test_units_of_an_article_are_made_once_and_stand_under_their_sections() -> None:
    text = "It is a bird.\n\n## Weight\n\nIt weighs 59 kg. It is heavy.\n\n## Colour\n\nIt is grey."
    encoder = HashEncoder()
    encoder.encode_units = encode = Mock(wraps=encoder.encode_units)  # type: ignore[method-assign]
    with build_own_articles([Document(text, "Tern")]) as store:
        retriever = EntityRetriever(store, granularity="sentence", encoder=encoder, words=9)
        calls = []  # in which the sentence was encoded
        for _ in range(2):
            [hit] = retriever.retrieve("Which weight has the Tern?")
            assert hit.unit.text == "Weight: It weighs 59 kg. It is heavy."
            assert {match.unit.text for match in hit.matches} == {
                "It weighs 59 kg.",
                "It is heavy.",
            }
            calls.append(str(encode.call_args_list).count("It is heavy."))
    assert calls == [1, 1]


def test_units_of_the_latest_articles_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("factoid.entities.retriever._REMEMBERED", 2)
    with build_own_articles(
        [Document(f"{name} is a bird.", name) for name in ("Tern", "Swift", "Rail")]
    ) as store:
        retriever = EntityRetriever(store, granularity="sentence", encoder=HashEncoder())
        for name in ("Tern", "Swift", "Rail", "Tern"):
            [hit] = retriever.retrieve(f"What is the {name}?")
            assert hit.unit.text == f"{name} is a bird."
        assert retriever._units.stats()["documents"] == 2
