"""The first l words of the ranked units (Dense X Retrieval, §4.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Granularity, Hit, Unit, pack_context
from factoid.errors import InvalidInputError


def units(*texts):
    """Propositions of different places in one document."""
    return [
        Unit(str(n), text, Granularity.PROPOSITION, "d", "p", n, n + 1)
        for n, text in enumerate(texts)
    ]


def packed(*texts, **options):
    return pack_context(units(*texts), **options)


def test_units_and_hits_best_first():
    one, two = units("The tower leans.", "Galileo was born here.")
    assert pack_context([one, two]) == "The tower leans.\nGalileo was born here."
    assert (
        pack_context([Hit(two, 0.9), Hit(one, 0.1, (Hit(two, 0.1),))])
        == "Galileo was born here.\nThe tower leans."
    )
    assert pack_context(unit for unit in (one, two)) == pack_context([one, two])
    assert pack_context([one, two], separator=" | ") == "The tower leans. | Galileo was born here."
    assert pack_context([]) == packed("", " \n") == ""


def test_the_budget_is_exact_and_the_last_unit_is_cut():
    cuts = [
        "one",
        "one  two",
        "one  two\tthree.",
        "one  two\tthree.\nfour",
        "one  two\tthree.\nfour\n\nfive",
    ]
    for words, expected in enumerate([*cuts, *[f"{cuts[-1]} six"] * 9], start=1):
        assert packed(" one  two\tthree. \n", "four\n\nfive six", words=words) == expected


def test_a_unit_within_one_already_taken_is_left_out_and_costs_nothing():
    assert (
        packed("The tower leans.", "the  TOWER\nleans.", "It is old.", words=6)
        == "The tower leans.\nIt is old."
    )
    assert (
        packed("The tower leans. It is old.", "It is old.", "It", "leans")
        == "The tower leans. It is old."
    )
    # A passage after its sentence repeats it: what was ranked first stays first.
    assert (
        packed("It is old.", "The tower leans. It is old.")
        == "It is old.\nThe tower leans. It is old."
    )
    # Only whole words count.
    assert packed("She ran.", "He ran.") == "She ran.\nHe ran."
    assert (
        packed("The party", "art", "1990", "199", "C++ (x)", "c++")
        == "The party\nart\n1990\n199\nC++ (x)"
    )


def test_facts_of_one_sentence_are_left_out_once_all_their_words_were_said():
    facts = (
        "The Tern, a pump of 1963, weighs 59 kg and runs at 400 volts.",
        "The Tern weighs 59 kg.",
        "The Tern does not run at 400 volts.",
        "In 1963 the pump was the Tern.",
    )

    def units_of(*spans):
        places = enumerate(zip(facts, spans, strict=True))
        return [
            Unit(str(n), text, Granularity.PROPOSITION, "d", "p", *span)
            for n, (text, span) in places
        ]

    same = units_of((0, 60), (0, 60), (0, 60), (0, 60))
    assert pack_context(units_of((0, 60), (0, 60), (0, 60), (10, 20))) == f"{facts[0]}\n{facts[2]}"
    assert pack_context(units_of((0, 60), (60, 90), (90, 100), (100, 110))) == "\n".join(
        facts
    )  # of other sentences
    assert pack_context(same[::-1]) == "\n".join([facts[3], facts[2], facts[1], facts[0]])
    assert pack_context([same[0], replace(same[1], document_id="another")]).endswith(facts[1])


def test_a_budget_below_one_word():
    with pytest.raises(InvalidInputError, match="words must be at least 1, got 0"):
        packed("text", words=0)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab .\n\u00a0ßİé", max_size=12), max_size=8), st.integers(1, 12))
def test_never_more_words_and_never_fewer_than_there_are(texts, words):
    result = packed(*texts, words=words)
    assert len(result.split()) <= words
    everything = packed(*texts, words=10_000)
    assert result.split() == everything.split()[:words]
    folded = " ".join(everything.split()).casefold()
    assert all(" ".join(text.split()).casefold() in folded for text in texts)


def headed(text, document_id, title, section="", kind=Granularity.PASSAGE):
    start = len(text)
    return Unit("", text, kind, document_id, document_id, start, start + 1, title, section)


def test_a_title_is_written_once_for_each_document_and_stays_above_its_texts():
    ranked = [
        headed("It weighs 59 kg.", "tern", "Manual of the Tern", "Data"),
        headed("It weighs 40 kg.", "heron", "Manual of the Heron", "Data"),
        headed("It runs at 400 volts.", "tern", "Manual of the Tern", "Data"),
        headed("It needs a cold room.", "tern", "Manual of the Tern", "Care"),
    ]
    assert pack_context(ranked) == (
        "Manual of the Tern — Data: It weighs 59 kg.\nIt runs at 400 volts.\nCare: It needs a cold room.\n"
        "Manual of the Heron — Data: It weighs 40 kg."
    )
    assert pack_context(ranked, headings=False).splitlines() == [unit.text for unit in ranked]
    assert pack_context(ranked, words=10) == "Manual of the Tern — Data: It weighs 59 kg."


def test_of_a_path_only_what_is_new_is_written():
    sections = ["Leave", "Leave, Parents", "Leave, Illness", "Pay"]
    texts = [
        "All have leave.",
        "Mothers have more.",
        "A doctor writes a note.",
        "It is on the first.",
    ]
    ranked = [
        headed(text, "d", "Handbook", section)
        for text, section in zip(texts, sections, strict=True)
    ]
    assert pack_context(ranked) == (
        "Handbook: All have leave.\nParents: Mothers have more.\nIllness: A doctor writes a note.\nPay: It is on the first."
    )


def test_what_a_text_says_itself_is_not_written_above_it():
    tower = headed(
        "The Leaning Tower of Pisa leans.", "d", "Leaning Tower of Pisa", "The tower leans"
    )
    assert pack_context([tower]) == tower.text
    again = headed("It is old.", "d", "Leaning Tower of Pisa", "History")
    assert pack_context([tower, again]) == f"{tower.text}\nHistory: It is old."


words_of_units = st.lists(
    st.lists(
        st.sampled_from(["The", "tower", "leans.", "It", "is", "old."]), min_size=1, max_size=6
    ),
    max_size=6,
)


@given(words_of_units, st.integers(1, 20))
def test_the_papers_context_is_the_first_words_of_the_ranked_texts(texts, words):
    joined = [word for text in texts for word in text]
    ranked = units(*map(" ".join, texts))
    context = pack_context(ranked, words=words, separator=" ", headings=False, repeats=True)
    assert context == " ".join(joined[:words])


def test_repeats_are_kept_under_headings_too():
    tower = Unit("1", "It leans.", Granularity.PROPOSITION, "d", "p", 0, 9, "Pisa", "Tower")
    again = replace(tower, id="2")
    assert pack_context([tower, again]) == "Pisa — Tower: It leans."
    assert pack_context([tower, again], repeats=True) == "Pisa — Tower: It leans.\nIt leans."
