"""Passages as Dense X Retrieval, Appendix A, makes them; sentences; exact spans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, Granularity, split_passages, split_sentences
from factoid.errors import InvalidInputError
from factoid.sections import outline
from tests.test_sentences import UNSEEN

TEXT = """# Leaning Tower of Pisa

The tower leans. It is old.

## History

Building began in 1173. The tower began to lean.[1]

<!-- A gap of 200 years. -->

It was restored."""


@pytest.mark.parametrize("end", ["", "\n", " \r\n\nThat is all.", "\n| Bonn | 2 |"])
def test_a_table_at_the_end_of_a_passage_is_closed(end):
    text = f"| City | Price |\n|---|---|\n| Oslo | 1 |{end}"
    passages = split_passages(Document(text), words=6, min_words=0)
    assert passages[0].text.endswith("| Oslo | 1 |")
    assert "".join(passage.text for passage in passages[1:]) == end.strip()
    [bare] = split_passages(Document("City | Price\n---|---\nOslo | 1"))
    assert bare.text.endswith("Oslo | 1")


def sentence(words, name="word"):
    """A sentence of so many words."""
    return " ".join(["The", *[name] * (words - 1)]) + "."


def appendix_a(lengths, words, min_words):
    """Pack sentences, given by their lengths, as the paper tells it: an independent retelling of
    its five sentences.
    """
    chunks, chunk = [], []
    for index, length in enumerate(lengths):
        if chunk and sum(lengths[i] for i in chunk) + length > words:
            chunks.append(chunk)
            chunk = []
        chunk.append(index)
    if chunk:
        chunks.append(chunk)
    if len(chunks) >= 2 and sum(lengths[i] for i in chunks[-1]) < min_words:
        chunks[-2:] = [chunks[-2] + chunks[-1]]
    return chunks


@pytest.mark.parametrize(
    ("lengths", "passages"),
    [
        ([40, 60], [[0, 1]]),  # exactly 100 words fit
        ([40, 61], [[0], [1]]),  # 101 do not
        ([40, 60, 49], [[0, 1, 2]]),  # a last passage under 50 words is merged, beyond 100 words
        ([40, 60, 50], [[0, 1], [2]]),  # one of 50 words is not
        ([100, 20, 100], [[0], [1], [2]]),  # only the last one is merged
        ([150, 10, 60], [[0], [1, 2]]),  # a sentence above 100 words stands alone
        ([30, 30, 30, 30], [[0, 1, 2, 3]]),  # 90 words, and 30 that are merged
    ],
)
def test_a_paragraph_is_packed_greedily(lengths, passages):
    sentences = [sentence(length) for length in lengths]
    expected = [" ".join(sentences[index] for index in group) for group in passages]
    assert [unit.text for unit in split_passages(Document(" ".join(sentences)))] == expected
    assert appendix_a(lengths, 100, 50) == passages


PARAGRAPHS = st.lists(
    st.lists(st.integers(2, 130), min_size=1, max_size=12), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(PARAGRAPHS, st.integers(1, 150), st.floats(0, 1))
def test_against_an_independent_retelling(paragraphs, words, share):
    min_words = int(words * share)
    text = "\n\n".join(" ".join(map(sentence, lengths)) for lengths in paragraphs)
    joined = []
    for lengths in paragraphs:
        if (
            joined
            and sum(joined[-1] + lengths) <= words
            and (sum(joined[-1]) < min_words or sum(lengths) < min_words)
        ):
            joined[-1] = joined[-1] + lengths
        else:
            joined.append(lengths)
    expected = [
        [sentence(lengths[index]) for index in group]
        for lengths in joined
        for group in appendix_a(lengths, words, min_words)
    ]
    passages = split_passages(Document(text), words=words, min_words=min_words)
    assert [unit.text.replace("\n\n", " ") for unit in passages] == [
        " ".join(sentences) for sentences in expected
    ]


@settings(max_examples=100, deadline=None)
@given(PARAGRAPHS, st.integers(1, 150), st.floats(0, 1))
def test_appendix_a_packs_each_paragraph_alone(paragraphs, words, share):
    min_words = int(words * share)
    text = "\n\n".join(" ".join(map(sentence, lengths)) for lengths in paragraphs)
    expected = [
        " ".join(sentence(lengths[index]) for index in group)
        for lengths in paragraphs
        for group in appendix_a(lengths, words, min_words)
    ]
    passages = split_passages(
        Document(text), words=words, min_words=min_words, join_paragraphs=False
    )
    assert [unit.text for unit in passages] == expected


def test_short_paragraphs_of_a_section_are_one_passage():
    long = " ".join([sentence(30)] * 3)
    text = f"""# Pump

Hi Tom,

it failed.

<!-- checked -->

A rat bit through the cable.

```
reset
```

Best regards

{long}

## Cost

We pay.

{sentence(60)}

{sentence(50)}"""
    assert [unit.text for unit in split_passages(Document(text))] == [
        "Hi Tom,\n\nit failed.",
        "A rat bit through the cable.",
        "```\nreset\n```",
        f"Best regards\n\n{long}",
        f"We pay.\n\n{sentence(60)}",
        sentence(50),
    ]
    apart = [unit.text for unit in split_passages(Document(text), min_words=0)]
    assert len(apart) == 9


def test_all_that_a_passage_and_its_sentences_carry():
    document = Document(TEXT, section="Towers", id="pisa", metadata={"year": 1173})
    passage = split_passages(document)[1]
    first, second = split_sentences(passage)
    assert (passage.granularity, passage.document_id, passage.parent_id) == (
        Granularity.PASSAGE,
        "pisa",
        "pisa",
    )
    assert (second.granularity, second.document_id, second.parent_id) == (
        Granularity.SENTENCE,
        "pisa",
        passage.id,
    )
    assert (first.text, second.text) == ("Building began in 1173.", "The tower began to lean.[1]")
    for unit in (passage, first, second):
        assert unit.text == TEXT[unit.start : unit.end]
        assert (unit.title, unit.section) == ("Leaning Tower of Pisa", "Towers, History")
        assert unit.metadata == {"year": 1173}
    assert split_passages(document)[1] == passage
    assert len({unit.id for unit in (passage, first, second)}) == 3


@pytest.mark.parametrize("text", ["", "\t\r\n \u00a0\u2003", "---\ntitle: only\n---\n"])
def test_nothing_comes_of_nothing(text):
    assert split_passages(Document(text)) == []


@pytest.mark.parametrize(
    ("words", "min_words", "message"),
    [
        (0, 0, "words must be at least 1, got 0"),
        (0, None, "words must be at least 1, got 0"),
        (10, 11, "min_words must be from 0 to words=10, got 11"),
        (10, -1, "min_words must be from 0 to words=10, got -1"),
    ],
)
def test_options_out_of_range(words, min_words, message):
    with pytest.raises(InvalidInputError, match=message):
        split_passages(Document("text"), words=words, min_words=min_words)


def test_characters_count_where_no_spaces_are_written():
    text = "我们来了。" * 40  # four words each: 25 sentences in 100 words
    assert [len(unit.text) for unit in split_passages(Document(text))] == [125, 75]


LINES = st.sampled_from(
    "¦ ¦# One¦## Two ##¦Three¦=====¦---¦- item¦1. item¦```¦title: x¦| a | b |¦Some text. It goes "
    f"on.¦and on¦{'x' * 210}¦"
    "漢字。漢字¦Dr. No (see p. 5).[3] 😀¦\0¦\t\u00a0é.¦T\u2028U.\x0c¦".split("¦")
)
DOCUMENTS = st.tuples(
    st.lists(LINES, max_size=25), st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"])
).map(lambda pair: pair[1].join(pair[0])) | st.text(max_size=120)


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_spans_are_exact_and_nothing_is_lost(text):
    document = Document(text)
    passages = split_passages(document, words=20, min_words=5)
    seen = [0] * len(text)  # how many sentences each character stands in
    at = 0
    for passage in passages:
        assert at <= passage.start < passage.end
        at = passage.end
        assert passage.text == text[passage.start : passage.end] == passage.text.rstrip()
        assert passage.text == passage.text.lstrip() or passage.text[0] in " \t"
        for unit in split_sentences(passage):
            assert passage.start <= unit.start < unit.end <= passage.end
            assert unit.text == text[unit.start : unit.end]
            for position in range(unit.start, unit.end):
                seen[position] += 1
    assert len({passage.id for passage in passages}) == len(passages)
    # No word stands in two sentences; one that stands in none is part of a heading or of front
    # matter.
    inside = [False] * len(text)
    for start, end, _, _ in outline(document)[1]:
        inside[start:end] = [True] * (end - start)
    for char, times, wanted in zip(text, seen, inside, strict=True):
        assert times <= wanted
        assert times == wanted or not char.isalpha() or "]:" in text or "<" in text  # a tag
    if text.startswith("---"):
        return  # perhaps a front matter
    headed = " ".join(f"{unit.title} {unit.section}" for unit in passages).replace("#", "")
    at = 0
    for line in text.split("\n"):
        missed = "".join(
            char for char, times in zip(line, seen[at : at + len(line)], strict=True) if not times
        )
        at += len(line) + 1
        assert (
            "<" in line
            or UNSEEN.fullmatch(missed.strip("\\"))
            or " ".join(missed.replace("#", "").split()) in headed
        )


def test_units_repeat_the_beginning_of_a_long_title_and_section():
    document = Document("Olms sing. " * 200, "t" * 5000, "s" * 5000)
    for passage in split_passages(document):
        for unit in (passage, *split_sentences(passage)):
            assert (unit.title, unit.section) == ("t" * 1000, "s" * 1000)
