"""PropCite against loops over single products of fake token vectors; streams, and what is never
changed.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from math import inf
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import AnyGranularityRanker, Document, PropCite
from factoid.errors import InvalidInputError
from factoid.late_interaction import CitedAnswer, CiteReport
from factoid.testing import ScriptedPropositionizer
from factoid.units import Unit
from tests.late_interaction.test_answer import cut, texts
from tests.late_interaction.test_rank import OSLO, PASSAGES
from tests.late_interaction.word_vectors import WordVectors, bare, maxsim

SENTENCE = "Anna Berg was born in Oslo, where the Vasa was shown."
SCRIPT = {SENTENCE: ["The Vasa was shown.", "Anna Berg was born in Oslo."]}
PARTS = [  # the words of the propositions in the sentence
    ["the", "Vasa", "was", "shown"],
    ["Anna", "Berg", "was", "born", "in", "Oslo"],
]


def citer(**options: Any) -> PropCite:
    options = {"propositionizer": ScriptedPropositionizer(SCRIPT)} | options
    return PropCite(WordVectors(), **options)


def whole() -> PropCite:
    """Each sentence is its own proposition."""
    return citer(propositionizer=ScriptedPropositionizer(lambda unit: [unit.text]))


def ranking(query: Sequence[str]) -> list[tuple[float, int]]:
    scores = [maxsim(query, ["[CLS]", "passage", *bare(passage)]) for passage in PASSAGES]
    return sorted(((score, position) for position, score in enumerate(scores)), reverse=True)


QUERIES = {
    "proposition": PARTS,
    "bare proposition": [["[CLS]", "query", *bare(text)] for text in SCRIPT[SENTENCE]],
    "sentence": [["[CLS]", "query", *bare(SENTENCE)]],
}


@pytest.mark.parametrize("method", QUERIES)
def test_scores_margins_and_order_equal_loops(method: Any) -> None:
    [sentence] = citer(method=method).cite(SENTENCE, PASSAGES).sentences
    assert len(sentence.citations) == len(QUERIES[method])
    for citation, query in zip(sentence.citations, QUERIES[method], strict=True):
        (score, position), (following, _), *_ = ranking(query)
        assert citation.position == position
        assert (citation.score, citation.margin) == pytest.approx(
            (score, score - following), rel=1e-5
        )
        assert type(citation.score) is type(citation.margin) is float
    assert sentence.numbers == tuple(
        dict.fromkeys(citation.number for citation in sentence.citations)
    )


@pytest.mark.parametrize("method", QUERIES)
def test_several_passages_can_be_cited_for_each_query(method: Any) -> None:
    [sentence] = citer(method=method, passages_per_claim=2).cite(SENTENCE, PASSAGES).sentences
    expected = []
    for query in QUERIES[method]:
        (first, one), (second, two), (third, _), *_ = ranking(query)
        expected += [(one, first, first - second), (two, second, second - third)]
    assert [citation.position for citation in sentence.citations] == [
        position for position, *_ in expected
    ]
    for citation, (_, score, margin) in zip(sentence.citations, expected, strict=True):
        assert (citation.score, citation.margin) == pytest.approx(
            (score, margin), rel=1e-5, abs=1e-5
        )
    [alone] = citer(method=method, passages_per_claim=2).cite(SENTENCE, PASSAGES[:1]).sentences
    assert {citation.position for citation in alone.citations} == {0}


def test_a_bare_proposition_is_encoded_without_its_sentence() -> None:
    encoder = WordVectors()
    encoder.encode_query = asked = Mock(wraps=encoder.encode_query)  # type: ignore[method-assign]
    options: Any = {
        "propositionizer": ScriptedPropositionizer(SCRIPT),
        "method": "bare proposition",
    }
    cited = PropCite(encoder, **options).cite(SENTENCE, PASSAGES)
    queries = {call.args for call in asked.call_args_list}
    assert queries == {(text,) for text in SCRIPT[SENTENCE]}
    texts_of_claims = [
        [cited.text[start:end] for start, end in citation.spans] for citation in cited.citations
    ]
    assert texts_of_claims == [["the Vasa was shown"], ["Anna Berg was born in Oslo"]]


def test_the_parts_of_a_proposition_are_encoded_in_their_sentence() -> None:
    encoder = WordVectors()
    encoder.encode_query = asked = Mock(wraps=encoder.encode_query)  # type: ignore[method-assign]
    PropCite(encoder, propositionizer=ScriptedPropositionizer(SCRIPT)).cite(SENTENCE, PASSAGES)
    assert [call.args for call in asked.call_args_list] == [(SENTENCE,)] * 2  # under both markers


def test_spans_lie_in_the_cited_answer() -> None:
    answer = f"So it goes.  {SENTENCE} So it goes."
    cited = citer().cite(answer, PASSAGES)
    second = cited.sentences[1]
    assert cited.text[second.start : second.end] == second.text.strip()
    assert second.plain == SENTENCE
    for citation, words in zip(second.citations, PARTS, strict=True):
        assert [
            word for start, end in citation.spans for word in cited.text[start:end].split()
        ] == words
    first = cited.sentences[0]  # no proposition was made of it
    [citation] = first.citations
    [(start, end)] = citation.spans
    assert cited.text[start:end] == f"So it goes [{citation.number}]."
    assert citation.claim == "So it goes."


def test_support_is_the_best_unit_of_the_cited_passage() -> None:
    document = Document(f"Preface.\n\n{OSLO}", title="People")
    start = document.text.index(OSLO)
    passage = Unit(
        "p", OSLO, "passage", document.id, document.id, start, len(document.text), title="People"
    )  # type: ignore[arg-type]
    ranker = AnyGranularityRanker(WordVectors())
    [citation] = (
        PropCite(ranker, method="sentence").cite("Anna Berg was born.", [passage]).citations
    )
    support = citation.support
    assert (
        document.text[support.unit.start : support.unit.end]
        == support.unit.text
        == "Anna Berg was born in Oslo."
    )
    assert citation.passage is passage
    hits = ranker.rank("Anna Berg was born.", [passage])
    assert (support.unit, support.score) == (hits[0].unit, pytest.approx(hits[0].score))


def test_one_passage_has_an_infinite_margin_and_none_cites_nothing() -> None:
    [citation] = whole().cite("Anna sang.", [OSLO]).citations
    assert citation.margin == inf
    assert len(citer(min_margin=1e9).cite("Anna sang.", [OSLO]).citations) == 1
    cite = whole()
    assert cite.cite("Anna sang [1].", []).text == "Anna sang."
    assert cite.last_report == CiteReport(sentences=1)


def test_passages_without_text_are_never_cited() -> None:
    for passages in (["", OSLO, "…"], [" ", "Berlin", "..."]):
        [citation] = whole().cite("Paris shines.", passages).citations
        assert (citation.position, citation.margin) == (1, inf)
    assert whole().cite("Paris shines.", ["", "…"]).citations == ()


def test_the_margin_decides() -> None:
    margins = [citation.margin for citation in citer().cite(SENTENCE, PASSAGES).citations]
    assert len(set(margins)) == 2
    for least in margins:
        cite = citer(min_margin=least)
        assert [citation.margin for citation in cite.cite(SENTENCE, PASSAGES).citations] == [
            m for m in margins if m >= least
        ]
        assert cite.last_report is not None
        assert cite.last_report.below_margin == sum(margin < least for margin in margins)
    assert citer(min_margin=0.1).cite(SENTENCE, [OSLO, OSLO]).text == SENTENCE, (
        "equal passages have no margin"
    )


def test_what_claims_nothing_is_not_cited() -> None:
    answer = "# Anna [1]\n\nI don't know. \n\n```\nx = a[1].\n```\n\n... \n\nAnna sang [9]."
    cite = whole()
    cited = cite.cite(answer, PASSAGES)
    numbers = [sentence.numbers for sentence in cited.sentences if sentence.start < sentence.end]
    assert [bool(number) for number in numbers] == [False] * 4 + [True]
    assert str(cited) == cited.text == answer.replace("[9]", f"[{numbers[-1][0]}]")
    assert cite.last_report is not None
    assert (cite.last_report.sentences, cite.last_report.silent, cite.last_report.claims) == (
        5,
        4,
        1,
    )
    assert whole().cite(" \n ", PASSAGES).text == " \n "
    assert whole().cite("", PASSAGES) == CitedAnswer()


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("Key facts [1]:\n\n- The Vasa sank.\n- Anna sang.", [False, True, True]),
        ("**Facts:**\n1. The Vasa sank.\n2. Anna sang.", [False, True, True]),
        ("Two columns:\n\n| Ship | Sank |\n| :-- | --: |\n| Vasa | 1628 |", [False, False, True]),
        ("Ship | Sank\n---|---\nVasa | 1628\n\nAnna | sang", [False, True, True]),
        ("The Vasa sank for two reasons: wind and haste.\n\n- Anna sang.", [True, True]),
        ("In her words:\n\nBerlin slept.", [False, True]),
    ],
)
def test_lead_ins_of_lists_and_headers_of_tables_are_not_cited(
    answer: str, cited: list[bool]
) -> None:
    sentences = [
        sentence
        for sentence in whole().cite(answer, PASSAGES).sentences
        if sentence.start < sentence.end
    ]
    assert [bool(sentence.citations) for sentence in sentences] == cited
    assert list(whole().stream(answer, PASSAGES)) == list(whole().cite(answer, PASSAGES).sentences)


def test_markers_stay_where_they_are_wanted() -> None:
    answer = "Anna sang [7]. Berlin slept."
    cite = citer(overwrite=False)
    cited = cite.cite(answer, PASSAGES)
    assert cited.text.startswith("Anna sang [7]. Berlin slept [")
    assert [bool(sentence.citations) for sentence in cited.sentences] == [False, True]
    assert cited.sentences[0].plain == "Anna sang."
    assert cite.last_report is not None
    assert cite.last_report.silent == 1


def test_what_stands_for_propositions_is_counted() -> None:
    script = {
        "Anna sang.": ["Anna sang.", "Zebras dance."],
        "Berlin slept.": ["It was a sleeping city of Berlin, then."],
    }
    cite = citer(propositionizer=ScriptedPropositionizer({**script, "Oslo is.": ["Oslo is."]}))
    cited = cite.cite("Anna sang. Nobody came. Oslo is.", PASSAGES)
    report = cite.last_report
    assert report is not None
    assert (report.claims, report.whole) == (3, 1)
    assert [citation.claim for citation in cited.citations] == [
        "Anna sang.",
        "Nobody came.",
        "Oslo is.",
    ]


def test_a_proposition_that_shares_no_word_counts_as_the_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "factoid.late_interaction.answer_citer.align", lambda proposition, sentence: []
    )
    cite = citer()
    [sentence] = cite.cite(SENTENCE, PASSAGES).sentences
    assert cite.last_report is not None
    assert (cite.last_report.whole, cite.last_report.claims) == (2, 1)  # the sentence, once
    [citation] = sentence.citations
    assert citation.score == pytest.approx(ranking(bare(SENTENCE))[0][0], rel=1e-5)


def test_passages_are_encoded_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cite = citer()
    answer = cite._citer(PASSAGES)
    with monkeypatch.context() as patch:
        patch.setattr(cite.ranker, "tokens", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            answer.encode()
    assert len(answer.encode()) == len(PASSAGES)


def test_passages_and_sentences_are_encoded_once() -> None:
    script = ScriptedPropositionizer(lambda unit: [unit.text])
    cite = PropCite(WordVectors(), propositionizer=script)
    cite.cite("Anna sang. Berlin slept. Anna sang.", iter(PASSAGES))
    assert [[unit.text for unit in call] for call in script.calls] == [
        ["Anna sang.", "Berlin slept."]
    ]
    list(
        cite.stream(
            (chunk for chunk in ("Anna sang. Berlin", " slept. Anna sang.")), iter(PASSAGES)
        )
    )
    assert cite.ranker.encoder.encoded == 2 * PASSAGES  # type: ignore[attr-defined]


@given(texts, st.lists(st.integers(0, 10_000), max_size=10))
def test_nothing_of_an_answer_is_changed_but_markers(answer: str, places: list[int]) -> None:
    cite = whole()
    cited = cite.cite(answer, PASSAGES)
    marker = r"\[(?:1|2, 3)\](?:\(http[^)]*\))?"
    spaces = re.compile(rf"\s|{marker}(?:\s?-\s?{marker})*")  # a hyphen between markers joins them
    for sentences in (cited.sentences, list(cite.stream(cut(answer, places), PASSAGES))):
        rest = ""
        for sentence in sentences:
            markers = "".join(f"[{number}]" for number in sentence.numbers)
            assert sentence.text.count(f" {markers}") >= bool(markers)
            rest += sentence.text.replace(f" {markers}", "", 1) if markers else sentence.text
        assert spaces.sub("", rest) == spaces.sub("", answer)
        if "[" not in answer:
            assert rest == answer


def test_a_stream_that_is_closed_early_closes_its_chunks() -> None:
    closed = []

    def write() -> Iterator[str]:
        try:
            while True:
                yield "Anna sang. "
        finally:
            closed.append(True)

    cite = whole()
    stream = cite.stream(write(), PASSAGES)
    next(stream)
    assert not closed
    stream.close()  # type: ignore[attr-defined]
    assert closed
    assert cite.last_report is None


# The event loop


class Writer:
    """A model that waits for leave to write more."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self.chunks = chunks
        self.leave = asyncio.Semaphore(0)
        self.written = 0
        self.closed = False

    async def write(self) -> AsyncIterator[str]:
        try:
            for chunk in self.chunks:
                await self.leave.acquire()
                self.written += 1
                yield chunk
        finally:
            self.closed = True


async def test_async_stream_yields_before_the_model_has_finished() -> None:
    encoder = WordVectors()
    cite = PropCite(encoder, propositionizer=ScriptedPropositionizer(lambda unit: [unit.text]))
    writer = Writer(["Anna ", "sang. ", "Berlin ", "slept."])
    stream = cite.astream(writer.write(), PASSAGES)
    for _ in range(3):
        writer.leave.release()
    first = await anext(stream)
    assert (first.plain, writer.written) == ("Anna sang.", 3)
    writer.leave.release()
    rest = [sentence async for sentence in stream]
    assert await cite.acite("Anna sang. Berlin slept.", PASSAGES) == CitedAnswer((first, *rest))
    assert writer.closed
    assert encoder.threads
    assert encoder.threads.isdisjoint({threading.get_ident()})


async def test_passages_are_encoded_while_the_model_thinks() -> None:
    encoder = WordVectors()
    writer = Writer(["Anna sang. ", "Berlin ", "slept."])
    stream = PropCite(encoder).astream(writer.write(), PASSAGES)
    first = asyncio.ensure_future(anext(stream))
    while not encoder.encoded:
        await asyncio.sleep(0.01)
    assert writer.written == 0
    for _ in range(2):
        writer.leave.release()
    assert (await first).plain == "Anna sang."
    second = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.01)  # it waits for the model
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert writer.closed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "words"},
            "method must be one of proposition, bare proposition, sentence, got 'words'",
        ),
        ({"passages_per_claim": 0}, "passages_per_claim"),
        ({"passages_per_claim": 2, "min_margin": 1.0}, "min_margin decides about the best passage"),
        ({"propositionizer": "syntax"}, "expected a propositionizer"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        citer(**options)


def test_input_that_cannot_be() -> None:
    with pytest.raises(InvalidInputError, match="a list of passages, got a single text"):
        citer().cite("Anna sang.", OSLO)
    with pytest.raises(InvalidInputError, match="answer must be a str, got None"):
        citer().cite(None, PASSAGES)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="chunk must be a str, got int"):
        list(citer().stream([1], PASSAGES))  # type: ignore[list-item]
