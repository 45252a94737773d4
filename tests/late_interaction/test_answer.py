"""Sentences of an answer that grows: nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.late_interaction.answer import GrowingAnswer, Stretch, claims_something
from factoid.sentences import sentence_spans
from tests.late_interaction.answer_pieces import PIECES

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
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def grow(chunks: list[str]) -> list[Stretch]:
    growing = GrowingAnswer()
    return [*(stretch for chunk in chunks for stretch in growing.feed(chunk)), *growing.finish()]


@given(texts, st.lists(st.integers(0, 10_000), max_size=30))
def test_stretches_add_up_to_the_answer_however_it_is_cut(text: str, places: list[int]) -> None:
    for chunks in ([text], cut(text, places), list(text)):
        stretches = grow(chunks)
        assert "".join(stretch.text for stretch in stretches) == text
        assert all(0 <= stretch.start <= stretch.end <= len(stretch.text) for stretch in stretches)


@pytest.mark.parametrize(
    "text",
    [
        MARKDOWN,
        "東京は首都です。「はい。」と言った。 End.",
        "No end",
        "",
        "v2.0 is out. U.S. firms use it. Yes.",
    ],
)
def test_sentences_are_those_of_the_splitter(text: str) -> None:
    whole = GrowingAnswer(text).finish()
    assert [stretch.sentence for stretch in whole if stretch.sentence] == [
        text[a:b] for a, b in sentence_spans(text)
    ]
    assert grow(list(text)) == grow([text]) == whole


def test_a_sentence_leaves_when_a_word_of_the_next_one_is_complete() -> None:
    growing = GrowingAnswer()
    assert growing.feed('He said: "Dr. Berg is here." ') == []
    assert growing.feed("Th") == []
    [first] = growing.feed("en ")
    assert first.text == 'He said: "Dr. Berg is here."'
    assert (
        growing.feed("it rained and. so on. (But") == []
    )  # no sentence begins with a small letter
    assert [stretch.text for stretch in growing.feed(" now. ")] == [" Then it rained and. so on."]
    [second] = growing.finish()
    assert (second.text, second.start, second.end) == (" (But now. ", 1, 10)


def test_code_and_headings_are_no_prose() -> None:
    kinds = {
        stretch.text[stretch.start : stretch.end][:9]: stretch.is_prose
        for stretch in grow([MARKDOWN])
    }
    assert {start for start, is_prose in kinds.items() if not is_prose} == {
        "```python",
        "Heading o",
        "Name | Ye",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know.",
        "I’m sorry, but I cannot help with that.",
        "The provided context does not contain an answer.",
        "There is not enough information to say.",
        "There is no mention of it in the context.",
        "Not mentioned in the documents.",
        "Unfortunately, the answer is not in the context.",
        "Empty Response",
        "Key facts:",
        "**Two columns：**",
    ],
)
def test_what_claims_nothing(sentence: str) -> None:
    assert not claims_something(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["Nobody knows who built it.", "The treaty does not mention Norway.", "Reason: wind"],
)
def test_claims(sentence: str) -> None:
    assert claims_something(sentence)


@given(st.lists(st.sampled_from(PIECES), min_size=5, max_size=40), st.integers(1, 60))
def test_stretches_of_long_answers_add_up(pieces: list[str], size: int) -> None:
    text = ("".join(pieces) * 200)[:3000]
    stretches = grow([text[at : at + size] for at in range(0, len(text), size)])
    assert "".join(stretch.text for stretch in stretches) == text
    assert all(0 <= stretch.start <= stretch.end <= len(stretch.text) for stretch in stretches)


NUMBERED = [f"Anna{number} sings of May (the {number}. song). " for number in range(300)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(NUMBERED),
        "".join(f"- {line}\n" for line in NUMBERED),
        "".join(f"{number}. {line}\n" for number, line in enumerate(NUMBERED, start=1)),
        "| Song |\n|------|\n" + "".join(f"| {line}|\n" for line in NUMBERED),
        "".join(f"# {line}\n" for line in NUMBERED),
        "\n\n".join(NUMBERED),
        "".join(f"Anna: {line}\n" for line in NUMBERED),
    ],
    ids=["paragraph", "list", "numbered list", "table", "headings", "paragraphs", "conversation"],
)
def test_long_answers_are_split_as_a_whole_is(text: str) -> None:
    whole = GrowingAnswer(text).finish()
    growing = grow([text[at : at + 4] for at in range(0, len(text), 4)])
    assert growing == whole


def test_long_code_is_code_to_its_end() -> None:
    code = "".join(f"x{number} = a.b({number})\n\n" for number in range(400))
    text = f"Run this.\n\n```python\n{code}```\n\nIt prints a number."
    stretches = [
        stretch
        for stretch in grow([text[at : at + 4] for at in range(0, len(text), 4)])
        if stretch.sentence
    ]
    assert [stretch.sentence for stretch in stretches if stretch.is_prose] == [
        "Run this.",
        "It prints a number.",
    ]
    assert len(stretches) > 10  # the code leaves in parts


ANSWER = "Anna was born in Oslo [1]. She sings."
PROSE = ["Anna was born in Oslo.", "She sings."]


def prose(stretches: list[Stretch]) -> list[str]:
    return [stretch.plain for stretch in stretches if stretch.sentence and stretch.is_prose]


@pytest.mark.parametrize(
    "thought",
    [
        "<think>\nI should use passage [1].\n\nIt says so. </think>\n\n",
        "<think>I use [1]. Yes.</think>",
        "<thinking>I use [1]. Yes.</thinking>\n",
        "[THINK]I use [1].\n\n```\nx = a[1]\n\nNo.[/THINK]",
        "<|channel|>analysis<|message|>I use [1]. Yes.<|end|><|start|>assistant<|channel|>final<|message|>",
        '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> I use [1]. Yes.\n</details>\n',
        "analysisI use [1]. Yes.assistantfinal",
    ],
)
def test_reasoning_is_no_prose(thought: str) -> None:
    text = thought + ANSWER
    whole = GrowingAnswer(text).finish()
    assert prose(whole) == prose(grow(list(text))) == PROSE
    assert "".join(stretch.text for stretch in whole) == text
    changed = "".join(stretch.text[: stretch.start] + stretch.plain for stretch in whole)
    assert changed == thought + " ".join(PROSE)


@pytest.mark.parametrize(
    "tag", ["<think>", "<thought>\n", "[THINK]", "<|channel|>analysis<|message|>", "<scratchpad>"]
)
def test_reasoning_that_does_not_end(tag: str) -> None:
    text = f"{tag}I use [1]. It says so.\n\nOr is it [2]? I think"
    whole = GrowingAnswer(text).finish()
    assert prose(whole) == prose(grow(list(text))) == []
    assert "".join(stretch.plain for stretch in whole if stretch.sentence)


def test_long_reasoning_is_reasoning_to_its_end() -> None:
    thought = "".join(f"Passage [{number % 9 + 1}] says it.\n\n" for number in range(400))
    text = f"<think>\n{thought}</think>\n\n{ANSWER}"
    stretches = grow([text[at : at + 4] for at in range(0, len(text), 4)])
    assert prose(stretches) == PROSE
    assert len(stretches) > 10  # the reasoning leaves in parts


def test_reasoning_that_the_prompt_began() -> None:
    assert prose(GrowingAnswer(f"I use [1]. Yes.\n</think>\n\n{ANSWER}").finish()) == PROSE


@pytest.mark.parametrize(
    "text", ["Write `<think>` first. Then on.", "```\n<think>\n```\nThis is it. Then on."]
)
def test_tags_that_an_answer_speaks_of(text: str) -> None:
    assert prose(GrowingAnswer(text).finish())[-1] == "Then on."
