"""Sentences of an answer that grows, and markers in them: nothing is lost, and chunks make no difference."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.late_interaction.answer import GrowingAnswer, Stretch, is_refusal, with_markers, without_markers
from factoid.sentences import sentence_spans

MARKDOWN = """Founded in 1890 (see v2.0. Really), e.g. by Dr. A. Berg, it is 3.5 m tall [1]. [2] He said: "It lies deep." Then
they went home! What next?

# Heading one

- First item. With two sentences
- Second `a.b. Yes` item
1. numbered one
2. numbered two.

```python
x = 1. 
y = a[1]

z = 3
```

| Name | Year |
|------|------|
| Vasa | 1628 |

Last words [2, 3]. And a **bold one.** More.
"""  # noqa: W291 - white space at the end of a line
PIECES = [
    "Anna ",
    "sang. ",
    "Dr. ",
    "B",
    "(c",
    "). ",
    "`x.",
    "` ",
    "\n",
    "\n\n",
    "- ",
    "# ",
    "```\n",
    "3.5 ",
    "[1]",
    "! ",
    "。",
    "「",
    "」",
]
PIECES += ['"', "| ", "e.g. ", "?", "**", "<b>", "    ", "[2, 3] ", "(http://a.b)", "🙂", "\r\n", "~~~", "1. "]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def grow(chunks: list[str]) -> list[Stretch]:
    growing = GrowingAnswer()
    return [*(stretch for chunk in chunks for stretch in growing.feed(chunk)), *growing.finish()]


@given(texts, st.lists(st.integers(0, 10_000), max_size=30))
def test_stretches_add_up_to_the_answer_however_it_is_cut(text: str, places: list[int]) -> None:
    stretches = grow([text])
    assert "".join(stretch.text for stretch in stretches) == text
    assert grow(cut(text, places)) == stretches
    assert grow(list(text)) == stretches
    for stretch in stretches:
        assert 0 <= stretch.start <= stretch.end <= len(stretch.text)


@pytest.mark.parametrize(
    "text",
    [MARKDOWN, "東京は首都です。「はい。」と言った。 End.", "No end", "", "v2.0 is out. U.S. firms use it. Yes."],
)
def test_sentences_are_those_of_the_splitter(text: str) -> None:
    sentences = [stretch.text[stretch.start : stretch.end] for stretch in grow(list(text))]
    assert [sentence for sentence in sentences if sentence] == [text[start:end] for start, end in sentence_spans(text)]


def test_a_sentence_leaves_when_a_word_of_the_next_one_is_complete() -> None:
    growing = GrowingAnswer()
    assert growing.feed('He said: "Dr. Berg is here." ') == []
    assert growing.feed("Th") == []
    [first] = growing.feed("en ")
    assert first.text == 'He said: "Dr. Berg is here."'
    assert growing.feed("it rained (in v2.0. Yes) and. so on. (But") == []  # no sentence begins with a small letter
    assert [stretch.text for stretch in growing.feed(" now. ")] == [" Then it rained (in v2.0. Yes) and. so on."]
    assert growing.feed("Open. More words ") == [], "the parenthesis may close"
    [second] = growing.feed("here) it is. Next ")
    assert second.text == " (But now. Open. More words here) it is."
    [third] = growing.finish()
    assert (third.text, third.start, third.end) == (" Next ", 1, 5)


def test_a_parenthesis_that_never_closes_holds_a_sentence_for_a_while_only() -> None:
    growing = GrowingAnswer()
    complete = growing.feed("He left (in May. " + "Then they all went home. " * 20)
    assert complete[0].text == "He left (in May."


def test_code_and_headings_are_no_prose() -> None:
    kinds = {stretch.text[stretch.start : stretch.end][:9]: stretch.is_prose for stretch in grow([MARKDOWN])}
    assert kinds["```python"] is kinds["Heading o"] is False
    assert sum(not is_prose for is_prose in kinds.values()) == 2


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("Alpha [1] beta [2][13].", "Alpha beta."),
        ("Alpha. [1] [2, 3]", "Alpha."),
        ("[1] Alpha", "Alpha"),
        ("[1]", ""),
        ("Alpha [1](http://a.b) [link][2].", "Alpha [1](http://a.b) [link][2]."),
        ("Oslo[1], Bergen.[2] Then", "Oslo, Bergen. Then"),
        ("Up to 40 %[1] of it", "Up to 40 % of it"),
        ("`a[1]` and a [2019] war [1–3]\nlong", "`a[1]` and a [2019] war\nlong"),
        (r"Alpha \[1\] beta", r"Alpha \[1\] beta"),
        ("Alpha  beta", "Alpha  beta"),
    ],
)
def test_markers_are_taken_out(sentence: str, bare: str) -> None:
    assert without_markers(sentence) == bare


@pytest.mark.parametrize(
    "sentence",
    [
        "The index lies in [0, 1].",
        "Press [1] for sales, [2] for support and [3] to leave.",
        "Call a[1] first, then $x[2]$ and <code>z[3]</code>.",
        "It lies at https://a.b/c?x=[1]&y=2 and https://a.b/list[2].",
        "Temperatures [0] to [5] apply (see [2]).",
        "The rules of [March 31][2] apply.",
        "\n[1]",
    ],
)
def test_numbers_in_brackets_that_do_not_cite_stay(sentence: str) -> None:
    assert without_markers(sentence) == sentence


def test_the_label_of_a_line_stays() -> None:
    assert without_markers("[1] Manual of the pump", starts_line=True) == "[1] Manual of the pump"


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("Alpha.", "Alpha [3][1]."),
        ("Alpha", "Alpha [3][1]"),
        ('He said "Yes!"', 'He said "Yes [3][1]!"'),
        ("**Bold.**", "**Bold [3][1].**"),
        ("Version v2.0", "Version v2.0 [3][1]"),
        ("As follows:", "As follows [3][1]:"),
        ("Use `a.`", "Use `a.` [3][1]"),
        ("See [it](http://a.b.)", "See [it](http://a.b.) [3][1]"),
        ("Vraiment ?", "Vraiment [3][1] ?"),
        ("首都です。", "首都です [3][1]。"),
        ("...", "... [3][1]"),
    ],
)
def test_markers_go_before_the_final_punctuation(sentence: str, marked: str) -> None:
    assert with_markers(sentence, [3, 1])[0] == marked
    assert with_markers(sentence, [])[0] == sentence


@given(texts)
def test_markers_that_were_put_in_come_out_again(sentence: str) -> None:
    bare = without_markers(" ".join(sentence.split()))
    marked, place = with_markers(bare, [7, 88])
    assert marked == f"{bare[:place]} [7][88]{bare[place:]}"


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know.",
        "I’m sorry, but I cannot help with that.",
        "The provided context does not contain an answer.",
        "There is not enough information to say.",
        "I do not have enough information to answer.",
        "Sorry, I can't help with that.",
        "There is no mention of it in the context.",
        "The text doesn't say.",
        "Not mentioned in the documents.",
        "Unfortunately, the answer is not in the context.",
        "Empty Response",
    ],
)
def test_refusals(sentence: str) -> None:
    assert is_refusal(sentence)


@pytest.mark.parametrize("sentence", ["Nobody knows who built it.", "The treaty does not mention Norway.", ""])
def test_claims_are_no_refusals(sentence: str) -> None:
    assert not is_refusal(sentence)
