"""Rows of tables as propositions: whole, or in parts that name the row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.files.readers import read_file
from factoid.propositions import decompose
from factoid.propositions.rows import RowFact, record_facts, row_facts
from factoid.words import count_words

PROPOSITIONIZER = SyntaxPropositionizer()


def facts(document: Document) -> list[str]:
    return [unit.text for unit in decompose(split_passages(document), PROPOSITIONIZER).units]


def test_a_short_row_is_one_proposition():
    cells = [("", "Old mill"), ("Height", " 12 "), ("Owner", ""), ("Sails", "four\nred")]
    assert row_facts(cells) == [RowFact("Old mill; Height: 12; Sails: four red", (0, 1, 3))]
    assert row_facts([("a", ""), ("b", " ")]) == []


def test_parts_of_a_long_row_name_it():
    cells = [("No.", "7"), ("Mill", "Old"), ("Height", "12 m"), ("Width", "6 m"), ("Sails", "4")]
    texts = [
        "No.: 7; Mill: Old; Height: 12 m",
        "No.: 7; Mill: Old; Width: 6 m",
        "No.: 7; Mill: Old; Sails: 4",
    ]
    parts = row_facts(cells, words=7)
    assert [fact.text for fact in parts] == texts
    assert [fact.cells for fact in parts] == [(0, 1, 2), (3,), (4,)]


def test_the_first_text_names_a_row_of_numbers():
    cells = [*((f"n{place}", str(place)) for place in range(5)), ("Mill", "Old"), ("Height", "12")]
    assert [fact.text for fact in row_facts(cells, words=6)] == [
        "Mill: Old; n0: 0; n1: 1",
        "Mill: Old; n2: 2; n3: 3",
        "Mill: Old; n4: 4; Height: 12",
    ]


CELLS = st.lists(
    st.tuples(st.sampled_from(["", "Name", "Long name"]), st.text("ab 1", max_size=30)), max_size=12
)


@given(CELLS, st.integers(1, 20))
def test_every_cell_is_in_a_proposition(cells, words):
    parts = row_facts(cells, words=words)
    filled = [place for place, (_, text) in enumerate(cells) if text.strip()]
    assert sorted(place for fact in parts for place in fact.cells) == filled
    for fact in parts:
        for place in fact.cells:
            assert " ".join(cells[place][1].split()) in fact.text


@pytest.mark.parametrize(
    ("text", "propositions"),
    [
        ("Mill: Old\nTown: Varn\nHeight: 12", ["Mill: Old; Town: Varn; Height: 12"]),
        ("mill: Old\nowner: \nheight: 12", ["mill: Old; height: 12"]),
        ("Old mill\nHeight: 12\nWidth: 6", ["Old mill; Height: 12; Width: 6"]),
        (
            "Mill: Old\nNote: It turns. It hums.\nHeight: 12",
            ["Mill: Old; Note: It turns. It hums.; Height: 12"],
        ),
        ("Mill: Old\r\nHeight: 12", ["Mill: Old; Height: 12"]),
        # no rows
        ("Anna: It turns.\nBo: It hums.", ["Anna: It turns.", "Bo: It hums."]),
        ("Mill: Old\nMill: New", ["Mill: Old", "Mill: New"]),
        ("# Old mill\n\nHeight: 12\nWidth: 6", ["Height: 12", "Width: 6"]),
        (
            "- Old mill:\n\n  Height: 12 m\n\n  Width: 6 m",
            ["Old mill: Height: 12 m", "Old mill: Width: 6 m"],
        ),
        ("**Old mill**\nHeight: 12\nWidth: 6", ["Old mill; Height: 12; Width: 6"]),
        (
            "From: Ann Lee\nTo: Bo Ray\nSubject: Mills",
            ["From: Ann Lee", "To: Bo Ray", "Subject: Mills"],
        ),
    ],
)
def test_texts_that_are_rows(text, propositions):
    assert facts(Document(text)) == propositions


@pytest.mark.parametrize("letter", "Pp")
def test_spans_of_a_row_point_at_its_lines(tmp_path, letter):
    path = tmp_path / "mills.csv"
    values = ",".join("grey stone and wood" for _ in range(30))
    names = ",".join(f"{letter}art {number}" for number in range(30))
    path.write_text(f"Mill,{names}\nOld,{values}\n")
    (document,) = read_file(path)
    passages = split_passages(document)
    assert letter == "p" or len(passages) > 1
    units = [fact for passage in passages for fact in record_facts(passage)]
    assert all(
        fact.text.startswith(f"Mill: Old; {letter}art ") and count_words(fact.text) <= 60
        for fact in units
    )
    for fact in units:
        first, last = fact.text.split("; ")[1], fact.text.split("; ")[-1]
        lines = document.text[fact.start : fact.end].split("\n")
        assert lines[0] in ("Mill: Old", first)
        assert lines[-1] == last
    assert [unit.text for unit in decompose(passages, PROPOSITIONIZER).units] == [
        fact.text for fact in units
    ]
    assert {line for fact in units for line in fact.text.split("; ")} == set(
        document.text.split("\n")
    )


def test_texts_of_a_table_are_no_rows(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text('title,text,year\nMills,"The mill turns.\nNote: it hums.",1628\n')
    (document,) = read_file(path)
    assert facts(document) == ["The mill turns.", "Note: it hums."]


def test_sentences_of_a_long_cell_name_the_row(tmp_path):
    path = tmp_path / "mills.csv"
    sentences = [
        f"The wheel number {n} turns at night and hums its low song by the river."
        for n in range(20)
    ]
    path.write_text(f"Mill,Story\nOld,{' '.join(sentences)}\n")
    (document,) = read_file(path)
    units = [fact for passage in split_passages(document) for fact in record_facts(passage)]
    name, *story = units
    assert name.text == "Mill: Old"
    assert all(fact.text.startswith("Mill: Old; Story: The wheel number ") for fact in story)
    assert all(count_words(fact.text) <= 60 for fact in story)
    told = [fact.text.split("Story: ")[1] for fact in story]
    assert " ".join(told) == " ".join(sentences)
    assert [document.text[fact.start : fact.end].removeprefix("Story: ") for fact in story] == told
    assert {fact.text for fact in units} <= set(facts(document))
