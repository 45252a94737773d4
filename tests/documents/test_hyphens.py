"""Words that were cut at the end of a line, against decisions by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.hyphens import evidence, hyphen_edits
from factoid.documents.rules import selection_marks
from factoid.documents.trace import TracedText
from tests.documents.seeds import printed_paper


def restored(text: str, *others: str) -> str:
    return TracedText.of(text).edit(hyphen_edits(text, evidence([text, *others]))).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the bridge was re-\nbuilt of granite", "the bridge was rebuilt of granite"),
        ("the wid- est span", "the widest span"),
        ("a state-of-the-\nart crane", "a state-of-the-art crane"),
        ("river- and seaside paths", "river- and seaside paths"),
        ("the DC- 3 took off", "the DC-3 took off"),
        ("a Glasgow-\nbased firm", "a Glasgow-based firm"),
        ("Mr. Red-\nfield laughed", "Mr. Redfield laughed"),
        ("see https://example.org/coal-\nmine for it", "see https://example.org/coal-mine for it"),
        ("write to anna.lee@north-\nsea.example", "write to anna.lee@north-sea.example"),
        ("write to anna-\nlee@north.example", "write to anna-lee@north.example"),
        ("a re- call@20 of the recall", "a recall@20 of the recall"),
        ("a dash - here - and 3 - 2", "a dash - here - and 3 - 2"),
        ("naïve Mäd-\nchen", "naïve Mädchen"),
        ("a fac\u2010\ntory", "a factory"),
        ("a T-\nshirt, an X-\nray and an E-\nMail", "a T-shirt, an X-ray and an E-Mail"),
        ("INTRO-\nDUCTION", "INTRODUCTION"),
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


@given(st.text("ab -\n\u2010A9é/", max_size=40))
def test_any_text_keeps_its_letters(text: str) -> None:
    squeezed = re.compile(r"[\s\-\u2010]+")
    assert squeezed.sub("", restored(text)) == squeezed.sub("", text)


def annotated() -> list[tuple[str, str, str]]:
    lines = (
        (Path(__file__).parent / "line_end_hyphens.txt").read_text(encoding="utf-8").splitlines()
    )
    words = " ".join(line for line in lines if not line.startswith("#")).split()
    pairs = [re.fullmatch(r"(.+?)(-~|-|)\|(.+)", word) for word in words]
    return [(pair[1], pair[2], pair[3]) for pair in pairs if pair]


def test_all_line_ends_of_a_paper() -> None:
    """283 cut words: what is joined should be (precision), and what should be joined is
    (recall).
    """
    raw = printed_paper()
    text = TracedText.of(raw).edit(selection_marks(raw)).text
    spans = {edit[:2] for edit in hyphen_edits(text, evidence([text]))}
    rows = []
    for match in re.finditer(r"(?<=\w)[-\u2010]\s+(?=(\w+(?:['’]\w+)?))", text):
        start, end = match.span()
        decision = "" if (start, end) in spans else "-" if (start + 1, end) in spans else "-~"
        rows.append((text[:start].rsplit(maxsplit=1)[-1].lstrip("("), decision, match[1]))
    gold = annotated()
    assert [row[::2] for row in rows] == [row[::2] for row in gold]
    wrong = [(row[0], row[2]) for row, right in zip(rows, gold, strict=True) if row != right]
    assert wrong == [
        ("low", "dimensional"),
        ("under", "standing"),
        ("Col", "BERTv2"),
        ("fine", "tuned"),
        ("-0", "flan"),
    ]
    joined, right = (
        {place for place, row in enumerate(table) if not row[1]} for table in (rows, gold)
    )
    assert len(joined & right) / len(joined) > 0.99
    assert len(joined & right) / len(right) > 0.99
