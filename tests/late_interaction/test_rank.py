"""The ranker against a computation of its own over fake token vectors, and with a tiny model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import AnyGranularityRanker, Document, Granularity, split_passages, split_sentences
from factoid.errors import InvalidInputError
from factoid.late_interaction.rank import UNALIGNED
from factoid.testing import ScriptedPropositionizer
from factoid.units import Unit
from tests.late_interaction.word_vectors import WordVectors, bare, maxsim

OSLO = "Anna Berg was born in Oslo. She moved to Berlin."
VASA = "The Vasa sank in 1628 on its first voyage. It was raised, years later, and is shown in Stockholm."
PARIS = "Paris is the capital. It lies on a river."
PASSAGES = [PARIS, OSLO, VASA]


def score(query: str, words: Sequence[str], marker: str) -> float:
    return maxsim(["[CLS]", marker, *bare(query)], words, marker)


def whole(text: str) -> list[str]:
    return ["[CLS]", "passage", *bare(text)]


def test_sentences_are_ranked_by_their_own_and_their_passages_score() -> None:
    query = "where was anna born"
    hits = AnyGranularityRanker(WordVectors(), alpha=0.7).rank(query, PASSAGES)
    expected = {}
    for passage in PASSAGES:
        for sentence in passage.split(". "):
            own, around = (
                score(query, bare(sentence), "finer"),
                score(query, whole(passage), "query"),
            )
            expected[sentence.rstrip(".")] = (own + 0.7 * around, own, around)
    assert {hit.unit.text.rstrip(".") for hit in hits} == expected.keys()
    for hit in hits:
        total, own, around = expected[hit.unit.text.rstrip(".")]
        assert (hit.score, hit.parts["sentence"], hit.parts["passage"]) == pytest.approx(
            (total, own, around), rel=1e-5
        )
        assert PASSAGES[hit.position][hit.unit.start : hit.unit.end] == hit.unit.text
        assert (hit.passage.text, hit.unit.parent_id) == (PASSAGES[hit.position], hit.passage.id)
        assert type(hit.score) is float
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_row_is_ranked_with_the_names_of_its_columns() -> None:
    table = (
        "A night costs 130 euros.\n\n| City | Allowance |\n|---|---|\n| Oslo | 64 |\n| Bonn | 28 |"
    )
    query = "the allowance for Oslo"
    ranker = AnyGranularityRanker(WordVectors())
    hits = {hit.unit.text: hit for hit in ranker.rank(query, [table])}
    words = bare("Oslo | 64 City | Allowance")
    assert hits["Oslo | 64"].parts["sentence"] == pytest.approx(
        score(query, words, "finer"), rel=1e-5
    )
    # Units of a store get them, too; and what stands below the table does not.
    [passage] = split_passages(Document(f"{table}\n\nThat is all."))
    units = split_sentences(passage)
    again = ranker.rank(query, [passage], units=[units])
    scores = {hit.unit.text: hit.parts["sentence"] for hit in again}
    assert scores["Oslo | 64"] == pytest.approx(hits["Oslo | 64"].parts["sentence"], rel=1e-5)
    assert scores["That is all."] == pytest.approx(
        score(query, bare("That is all"), "finer"), rel=1e-5
    )


def test_passages_are_ranked_by_their_own_score() -> None:
    query, ranker = "where was anna born", AnyGranularityRanker(WordVectors())
    expected = {text: score(query, whole(text), "query") for text in PASSAGES}
    hits = ranker.rank(query, PASSAGES, "passage")
    assert [hit.unit.text for hit in hits] == sorted(
        PASSAGES, key=expected.__getitem__, reverse=True
    )
    assert [hit.score for hit in hits] == pytest.approx(
        [expected[hit.unit.text] for hit in hits], rel=1e-5
    )
    rolled_up = ranker.rank(query, PASSAGES, parents="passage")
    assert [(hit.unit, hit.score) for hit in rolled_up] == [(hit.unit, hit.score) for hit in hits]
    sentences = ranker.rank(query, PASSAGES)
    for hit in rolled_up:
        assert hit.matches == (
            next(sentence for sentence in sentences if sentence.position == hit.position),
        )


@given(
    st.integers(1, 8),
    st.sampled_from(["sentence", "passage"]),
    st.sampled_from(["unit", "passage"]),
)
def test_k_hits_are_the_first_of_all(k: int, granularity: str, parents) -> None:
    ranker = AnyGranularityRanker(WordVectors())
    every = ranker.rank("anna", PASSAGES, granularity, parents=parents)
    assert ranker.rank("anna", PASSAGES, granularity, k=k, parents=parents) == every[:k]
    assert len(every) == (6 if (granularity, parents) == ("sentence", "unit") else 3)


def test_units_keep_their_place_in_the_document_and_their_headings() -> None:
    document = Document(
        f"# Ships\n\n{VASA}\n\n# People\n\n{OSLO}", title="Book", metadata={"year": 1}
    )
    encoder = WordVectors()
    passages = split_passages(document, min_words=0)
    hits = AnyGranularityRanker(encoder).rank("anna", passages)
    assert encoder.encoded == [f"Book — {passage.section}: {passage.text}" for passage in passages]
    units = {unit.id: unit for passage in passages for unit in split_sentences(passage)}
    assert {hit.unit.id: hit.unit for hit in hits} == units
    # The heading counts for the passage, and for no sentence.
    plain = AnyGranularityRanker(WordVectors(), template="{text}").rank("anna", passages)
    own = {hit.unit.id: hit.parts["sentence"] for hit in plain}
    assert {hit.unit.id: hit.parts["sentence"] for hit in hits} == pytest.approx(own)
    assert {hit.parts["passage"] for hit in plain} != {hit.parts["passage"] for hit in hits}


def test_propositions_are_scored_by_their_words_in_the_sentence() -> None:
    script = {OSLO: ["Anna Berg moved to Berlin.", "Anna was born.", "Anna Berg was born in Oslo."]}
    ranker = AnyGranularityRanker(WordVectors(), propositionizer=ScriptedPropositionizer(script))
    query = "where did anna move"
    hits = {
        hit.unit.text: hit
        for hit in ranker.rank(query, [OSLO, OSLO], Granularity.PROPOSITION)
        if hit.position == 0
    }
    around = score(query, whole(OSLO), "query")
    for text, words in {
        "Anna Berg moved to Berlin.": ["moved", "to", "Berlin"],
        "Anna was born.": ["Anna", "was", "born"],
        "Anna Berg was born in Oslo.": ["Anna", "Berg", "was", "born", "in", "Oslo"],
    }.items():
        assert hits[text].score == pytest.approx(score(query, words, "finer") + around, rel=1e-5)
    assert hits.keys() == set(script[OSLO])
    report = ranker.last_report
    assert (report.passages, report.unaligned) == (2, 0)


def test_an_empty_alignment_falls_back_to_the_sentence_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = {PARIS: ["Paris is the capital.", "It lies on a river."]}
    ranker = AnyGranularityRanker(WordVectors(), propositionizer=ScriptedPropositionizer(script))
    sentences = {hit.unit.text: hit.score for hit in ranker.rank("paris", [PARIS])}
    monkeypatch.setattr("factoid.late_interaction.rank.align", lambda proposition, sentence: [])
    hits = ranker.rank("paris", [PARIS], "proposition")
    assert {hit.unit.text: hit.score for hit in hits} == pytest.approx(sentences)
    assert {hit.unit.metadata["fallback"] for hit in hits} == {UNALIGNED}
    assert ranker.last_report.unaligned == 2


def test_what_cannot_be_scored_is_counted_and_no_passage_is_lost() -> None:
    ranker = AnyGranularityRanker(WordVectors())
    hits = ranker.rank("anna", [f"{OSLO} …", "…", "", PARIS])
    assert {hit.position for hit in hits} == {0, 1, 2, 3}
    assert [hit.unit for hit in hits if hit.position in (1, 2)] == [
        hit.passage for hit in hits if hit.position in (1, 2)
    ]
    report = ranker.last_report
    assert (report.passages, report.whole) == (4, 2)
    assert {hit.position for hit in ranker.rank("anna", ["…", PARIS], parents="passage")} == {0, 1}
    assert {hit.position for hit in hits if hit.score == -np.inf} == {1, 2}


@pytest.mark.parametrize("granularity", ["sentence", "proposition", "passage"])
def test_an_empty_passage_comes_last(granularity: str) -> None:
    ranker = AnyGranularityRanker(WordVectors())
    hits = ranker.rank("Where was Anna born?", ["", "Cows eat grass."], granularity)
    assert [hit.unit.text for hit in hits] == ["Cows eat grass.", ""]
    assert hits[1].score == -np.inf
    [first, second] = ranker.rank(
        "Where was Anna born?", ["", "Cows eat grass."], granularity, parents="passage"
    )
    assert (first.position, second.position) == (1, 0)


def test_equal_texts_are_encoded_once_and_keep_their_order() -> None:
    encoder = WordVectors()
    hits = AnyGranularityRanker(encoder).rank("anna", [OSLO, PARIS, OSLO], "passage")
    assert encoder.encoded == [OSLO, PARIS]
    assert [hit.position for hit in hits if hit.unit.text == OSLO] == [0, 2]


def test_nothing_to_rank() -> None:
    ranker = AnyGranularityRanker(WordVectors())
    assert ranker.rank("anna", []) == []
    assert ranker.last_report.passages == 0


@pytest.mark.parametrize(
    ("passages", "options", "message"),
    [
        ([OSLO], {"granularity": "word"}, "unknown granularity 'word'"),
        ([OSLO], {"granularity": "document"}, "ranked as a passage"),
        ([OSLO], {"parents": "document"}, "parents must be 'passage' or 'unit'"),
        ([OSLO], {"k": 0}, "k must be at least 1"),
        (OSLO, {}, "got a single text"),
        (
            [Unit("1", "He ran.", Granularity.PROPOSITION, "d", "p", 5, 30)],
            {},
            "give the passage that it comes from",
        ),
    ],
)
def test_what_cannot_be_ranked(passages, options, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        AnyGranularityRanker(WordVectors()).rank("anna", passages, **options)


def test_a_template_must_end_in_the_text() -> None:
    with pytest.raises(InvalidInputError, match=r"must end in \{text\}"):
        AnyGranularityRanker(WordVectors(), template="{text} ({title})")


# With a model


def test_the_sentence_that_says_it_comes_first(colbert: Path) -> None:
    ranker = AnyGranularityRanker(colbert)
    for query, expected in {
        "Where was Anna Berg born?": "Anna Berg was born in Oslo.",
        "The first voyage in 1628": "The Vasa sank in 1628 on its first voyage.",
        "Paris the capital": "Paris is the capital.",
    }.items():
        assert ranker.rank(query, PASSAGES, k=1)[0].unit.text == expected
    [hit] = ranker.rank("Anna Berg moved to Berlin", [OSLO], "proposition", k=1)
    assert hit.unit.text == "Anna Berg moved to Berlin."


def test_a_long_passage_has_all_its_sentences(colbert: Path) -> None:
    ranker = AnyGranularityRanker(colbert)
    text = " ".join([VASA, *[PARIS] * 20, OSLO])
    hits = ranker.rank("Where was Anna Berg born?", [text])
    assert sorted(hit.unit.start for hit in hits) == [
        unit.start for unit in split_sentences(hits[0].passage)
    ]
    assert hits[0].unit.text == "Anna Berg was born in Oslo."
    assert ranker.last_report.windowed == 1


def test_the_finer_marker_is_for_units_only(colbert: Path, marked: Path) -> None:
    one, two = (
        AnyGranularityRanker(folder).rank("Where was Anna born?", PASSAGES)
        for folder in (colbert, marked)
    )
    parts = [{hit.unit.text: hit.parts for hit in hits} for hits in (one, two)]
    for text, first in parts[0].items():
        second = parts[1][text]
        assert first["passage"] == pytest.approx(second["passage"], abs=1e-4)
        assert first["sentence"] != pytest.approx(second["sentence"], abs=1e-4)


def test_threads_share_a_model(colbert: Path) -> None:
    ranker = AnyGranularityRanker(colbert)
    expected = ranker.rank("Where was Anna born?", PASSAGES)

    async def all_at_once():
        return await asyncio.gather(
            *(ranker.arank("Where was Anna born?", PASSAGES) for _ in range(8))
        )

    for hits in asyncio.run(all_at_once()):
        assert [hit.unit for hit in hits] == [hit.unit for hit in expected]
