"""Words that were cut at the end of a line, against decisions by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.blocks import without_marks
from factoid.documents.hyphens import Evidence, broken_words, decide, evidence, hyphen_edits
from factoid.documents.trace import TracedText
from tests.documents.seeds import printed_paper

NOTHING = Evidence()


def restored(text: str, *others: str, vocabulary: frozenset[str] = frozenset()) -> str:
    known = evidence([text, *others], vocabulary)
    return TracedText.of(text).edit(hyphen_edits(text, known)).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the bridge was re-\nbuilt of granite", "the bridge was rebuilt of granite"),
        ("the wid- est span", "the widest span"),
        ("a state-of-the-\nart crane", "a state-of-the-art crane"),
        ("a state-of-\nthe-art crane", "a state-of-the-art crane"),
        ("river- and seaside paths", "river- and seaside paths"),
        ("pre- or post-war roofs", "pre- or post-war roofs"),
        ("the DC- 3 took off", "the DC-3 took off"),
        ("pages 113- 122", "pages 113-122"),
        ("a Glasgow-\nbased firm", "a Glasgow-based firm"),
        ("a low- pressure valve", "a low-pressure valve"),
        ("the GTFS- feed", "the GTFS-feed"),
        ("old and new: over- haul", "old and new: overhaul"),
        ("Mr. Green-\nfield laughed at a green field", "Mr. Greenfield laughed at a green field"),
        ("see https://example.org/coal-\nmine for it", "see https://example.org/coal-mine for it"),
        ("write to anna.lee@north-\nsea.example", "write to anna.lee@north-sea.example"),
        ("a dash - here - and 3 - 2", "a dash - here - and 3 - 2"),
        ("naïve Mäd-\nchen", "naïve Mädchen"),
        ("a fac\u2010\ntory", "a factory"),
        ("a T-\nshirt, an X-\nray and an E-\nMail", "a T-shirt, an X-ray and an E-Mail"),
        ("die IT-\nAbteilung und die PDF-\nDatei", "die IT-Abteilung und die PDF-Datei"),
        ("twenty-\nfive INTRO-\nDUCTION", "twenty-five INTRODUCTION"),
        ("write to anna-\nlee@north.example", "write to anna-lee@north.example"),
        ("see coal-\nmine://x", "see coal-mine://x"),
        ("Est-\nce vrai? Peut-\nêtre. Celui-\nci", "Est-ce vrai? Peut-être. Celui-ci"),
        ("Avons-\nnous, rendez-\nvous, va-\nt-il, ont-\nelles", "Avons-nous, rendez-vous, va-t-il, ont-elles"),
        ("lui-\nmême, dois-\nje, as-\ntu, dit-\non, ces-\nlà", "lui-même, dois-je, as-tu, dit-on, ces-là"),
        ("ner-\nvous, lumi-\nnous, Mod-\nelle, fos-\nsils, voi-\nlà", "nervous, luminous, Modelle, fossils, voilà"),
    ],
)
def test_without_evidence(text: str, expected: str) -> None:
    assert restored(text) == expected


def test_the_document_decides_before_all_else() -> None:
    assert restored("we co- operate", "they co-operate") == "we co-operate"
    assert restored("we co- operate", "they cooperate") == "we cooperate"
    assert restored("a water- mill", "water and mill") == "a water-mill"
    assert restored("a water- mill", "water and mill and many watermills") == "a watermill"
    assert restored("a fact- or fiction", "the factor") == "a factor fiction"


def test_words_at_other_broken_lines_are_no_evidence() -> None:
    known = evidence(["the wa- ter and the mill", "a mil- ler"])
    assert not {"wa", "ter", "mil", "ler", "water"} & known.words.keys()
    assert known.words["mill"] == 1


def test_the_vocabulary_decides_what_the_document_does_not() -> None:
    assert restored("a light house-\nboat", "a house, a boat") == "a light house-boat"
    assert (
        restored("a light house-\nboat", "a house, a boat", vocabulary=frozenset({"houseboat"})) == "a light houseboat"
    )
    assert restored("a wind-\nswept hill", vocabulary=frozenset({"wind", "swept"})) == "a wind-swept hill"


@given(st.text("ab -\n\u2010A9é/", max_size=40))
def test_any_text_keeps_its_letters(text: str) -> None:
    squeezed = re.compile(r"[\s\-\u2010]+")
    assert squeezed.sub("", restored(text)) == squeezed.sub("", text)


def annotated() -> list[tuple[str, str, str]]:
    lines = (Path(__file__).parent / "line_end_hyphens.txt").read_text(encoding="utf-8").splitlines()
    words = " ".join(line for line in lines if not line.startswith("#")).split()
    marks = {"-~": "keep", "-": "hyphen", "": "join"}
    pairs = [re.fullmatch(r"(.+?)(-~|-|)\|(.+)", word) for word in words]
    return [(pair[1], pair[3], marks[pair[2]]) for pair in pairs if pair]


def test_all_line_ends_of_a_paper() -> None:
    """283 cut words: what is joined should be (precision), and what should be joined is (recall)."""
    text = without_marks(TracedText.of(printed_paper())).text
    known = evidence([text])
    rows = [(before.lstrip("("), after, decide(before, after, known)) for _, _, before, after in broken_words(text)]
    gold = annotated()
    assert [row[:2] for row in rows] == [row[:2] for row in gold]
    joined = {place for place, row in enumerate(rows) if row[2] == "join"}
    right = {place for place, row in enumerate(gold) if row[2] == "join"}
    assert len(joined & right) / len(joined) >= 0.99  # 246 of 247
    assert joined >= right
    wrong = [row for row, other in zip(rows, gold, strict=True) if row != other]
    assert wrong == [("fine", "tuned", "join"), ("-0", "flan", "hyphen")]
