from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, Granularity, Unit
from factoid.evaluate.answers import has_answer_dpr
from factoid.evaluate.gold import Gold, GoldFinder, Place
from factoid.evaluate.questions import Question, Quote, Span
from factoid.words import cut_words

VASA = Document(
    "# The Vasa\n\nThe *Vasa* sank\nin 1628. She had too few stones.",
    id="v",
    metadata={"source": "docs/vasa.md"},
)
WASA = Document("Wasa is bread. It sank in 1628, too.", title="Wasa", id="w")

words = st.lists(
    st.sampled_from(["a", "(日)", "1628", "Oslo,", "日本", "b-c", "über", "—", "\u200b"]),
    min_size=1,
    max_size=12,
)


def unit(document, start, end, text=None):
    return Unit(
        "",
        text or document.text[start:end],
        Granularity.PASSAGE,
        document.id,
        document.id,
        start,
        end,
    )


@pytest.mark.parametrize(
    "name", ["vasa.md", "docs/vasa.md", "VASA", "the vasa", "v", "/elsewhere/vasa.md"]
)
def test_documents_by_any_name(name):
    gold = GoldFinder([WASA, VASA]).find(
        Question(text="When?", answers=("1628",), documents=(name,))
    )
    assert gold == Gold(answers=("1628",), document_ids=("v",), group="v")


def test_an_id_is_not_mistaken_for_a_title():
    documents = [
        Document("It sank.", title="b 1", id="a 1"),
        Document("It sank.", title="a_1", id="b_1"),
    ]
    gold = GoldFinder(documents).find(Question(text="What?", documents=("b_1",)))
    assert gold.document_ids == ("b_1",)


def test_quotes_through_white_space_and_emphasis():
    gold = GoldFinder([WASA, VASA]).find(
        Question(text="When?", quotes=(Quote("the vasa sank in 1628"),))
    )
    [place] = gold.places
    assert VASA.text[place.start : place.end] == "The *Vasa* sank\nin 1628"
    assert gold.group == "v"


def test_gold_that_is_not_there():
    finder = GoldFinder([WASA, VASA])
    assert finder.find(Question(text="When?", quotes=(Quote("sank in 1629"),))) is None
    assert finder.find(Question(text="When?", answers=("1629",))) is None
    assert finder.find(Question(text="When?", answers=("1628",), documents=("mary.md",))) is None
    assert finder.find(Question(text="What bread?", answers=("stones",), documents=("w",))) is None
    assert finder.find(Question(text="When?", spans=(Span("v", 0, 4000),))) is None


def test_the_first_document_with_an_answer_is_the_group():
    gold = GoldFinder([WASA, VASA]).find(Question(text="When?", answers=("STONES", "1628")))
    assert gold.group == "v"


def test_a_result_covers_half_of_a_place():
    gold = Gold(places=(Place("v", 10, 20), Place("w", 0, 4)))
    results = [unit(VASA, 0, 14), unit(WASA, 0, 30), unit(VASA, 15, 40)]
    assert gold.first_ranks(results) == [3, 2]
    assert gold.first_ranks([]) == [None, None]


def test_an_answer_counts_in_named_documents():
    results = [unit(WASA, 0, 36), unit(VASA, 0, 60)]
    assert Gold(answers=("1628",)).first_ranks(results) == [1]
    assert Gold(answers=("1628",), document_ids=("v",)).first_ranks(results) == [2]
    assert Gold(answers=("162",)).first_ranks(results) == [None]


@given(words, words)
def test_answers_are_those_of_dpr(text, answer):
    answers = (" ".join(answer[:2]), "!")
    [rank] = Gold(answers=answers).first_ranks([unit(VASA, 0, 5, " ".join(text))])
    assert (rank == 1) == has_answer_dpr(" ".join(text), answers)


def test_documents_by_their_first_result():
    results = [unit(VASA, 0, 5), unit(VASA, 5, 9), unit(WASA, 0, 5)]
    assert Gold(document_ids=("w", "v", "x")).first_ranks(results) == [3, 1, None]


@given(words, words)
def test_words_needed_is_the_shortest_context_with_the_answer(context, answer):
    text, answers = " ".join(context), [" ".join(answer[:2])]
    needed = Gold(answers=tuple(answers)).words_needed(text)
    # by trying all lengths
    tried = [n for n in range(1, 40) if has_answer_dpr(cut_words(text, n), answers)]
    assert needed == (tried[0] if tried else None)


def test_nine_tenths_of_a_quote():
    quote = "one two three four five six seven eight nine ten"
    gold = Gold(quotes=(quote,))
    assert gold.words_needed("zero ten nine eight seven six. Five; four three two x y") == 10
    assert gold.words_needed("one two three four five six seven eight") is None
    assert Gold(quotes=("!",)).words_needed("!") is None
