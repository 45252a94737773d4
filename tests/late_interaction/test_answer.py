"""Sentences of an answer that grows, and markers in them: nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.late_interaction.answer import (
    GrowingAnswer,
    Stretch,
    claims_something,
    with_markers,
    without_markers,
)
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
PIECES = "Anna ¦sang. ¦Dr. ¦B¦(c¦). ¦`x.¦` ¦\n¦\n\n¦- ¦# ¦```\n¦3.5 ¦[1]¦! ¦。¦「¦」".split("¦")
PIECES += [
    '"',
    "| ",
    "e.g. ",
    "?",
    "**",
    "<b>",
    "    ",
    "[2, 3] ",
    "(http://a.b)",
    "🙂",
    "\r\n",
    "~~~",
    "1. ",
]
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
    ("sentence", "bare"),
    [
        ("Alpha [1] beta [2][13].", "Alpha beta."),
        ("[1] Alpha", "Alpha"),
        ("[1]", ""),
        ("See [1](http://a.b).", "See [1](http://a.b)."),
        ("Oslo[1], Bergen.[2] Then", "Oslo, Bergen. Then"),
        ("Up to 40 %[1] of it", "Up to 40 % of it"),
        ("`a[1]` and a [2019] war [1–3]\nlong", "`a[1]` and a [2019] war\nlong"),
        (r"Alpha \[1\] beta", r"Alpha \[1\] beta"),
        ("It sank [[2]](http://x). [[3]](u) Then", "It sank. Then"),
        ('It sank [[2]](http://x.y/a_(b) "Source"), [\\[4\\]](#c) too.', "It sank, too."),
        ("Oslo【4:0†source】 and 【12†a.pdf】 Bergen 【3】.", "Oslo and Bergen."),
        ("Le 【2024年】 stays", "Le 【2024年】 stays"),
        ("It follows (see Eq. [2]) from Fig. [3] [4].", "It follows (see Eq. [2]) from Fig. [3]."),
        (
            "According to [1], and as table [2] says, see [3].",
            "According to [1], and as table [2] says, see [3].",
        ),
        (
            "The index lies in [0, 1]; a[1] is the [1]: first.",
            "The index lies in [0, 1]; a[1] is the [1]: first.",
        ),
        # runs
        ("It sank [1]-[3], and rose [4]–[6].", "It sank, and rose."),
        ("It sank [1], [2] and [3].", "It sank."),
        ("It sank [1][2]; it rose [3] [4–6]. [7] - [9]", "It sank; it rose."),
        (
            "It sank ([1], [2]), Vasa (a ship)[3] rose<sup>[4]</sup>.",
            "It sank, Vasa (a ship) rose.",
        ),
        ("It sank [1; 2] and rose [3 and 4], [5, 6, and 7].", "It sank and rose."),
        ("Eqs. [2]-[4] hold, see [2] and [3].", "Eqs. [2]-[4] hold, see [2] and [3]."),
        # other marks
        ("It sank[^1][^2]. It rose.[^3]", "It sank. It rose."),
        ("[^1]: http://x.y", "[^1]: http://x.y"),
        ("It sank [1](http://x.y/a) and rose [2](#c).", "It sank and rose."),
        ("It sank [doc1] and rose [Source 2], [citation:3].", "It sank and rose."),
        ("It sank.¹ The king knew¹,² it¹.", "It sank. The king knew it¹."),
        ("It sank<sup>1,2</sup> on 5 m² or x<sup>2</sup>.", "It sank on 5 m² or x<sup>2</sup>."),
        ("It sank [1, p. 3] and rose [2, §4; 3, lines 7–9].", "It sank and rose."),
        ("It sank (source 1), or so (refs. 2 and 3).", "It sank, or so."),
        ("It sank [ref. 1] and rose [#2] [ 3 ] ［4］〔5〕^[6]^.", "It sank and rose."),
        ("It sank [^log]. It rose.[^a-2] Then", "It sank. It rose. Then"),
        (
            "It matches [^abc] here (1), see (source 2b).",
            "It matches [^abc] here (1), see (source 2b).",
        ),
        ("It sank [4†], and :contentReference[oaicite:0]{index=0} rose.", "It sank, and rose."),
        ("It sank \ue200cite\ue202turn0search1\ue202turn0search2\ue201.", "It sank."),
        (
            "A room [1, 2 m] of [page 3], [1, p] (documents).",
            "A room [1, 2 m] of [page 3], [1, p] (documents).",
        ),
        ("E = mc², sin²x, 10² feet², Ca²⁺, (x + 1)²", "E = mc², sin²x, 10² feet², Ca²⁺, (x + 1)²"),
    ],
)
def test_markers_are_taken_out(sentence: str, bare: str) -> None:
    assert without_markers(sentence) == bare


@pytest.mark.parametrize(
    "sentence",
    [
        "Set x = [1, 2, 3] first.",
        "Set y := [1].",
        "The list [1, 2, 3] has three items.",
        "[1, 2, 3] has three items.",
        "sorted([3, 1, 2]) returns [1, 2, 3].",
        "[1, 2, 3].append(4)",
        "The values are [1, 2] and the output is: [1, 2, 3].",
        "Rate it on a scale [1-5], in the range [2, 4].",
        "It is my_list[1] or find(x)[2].",
        "for x in [1, 2, 3]",
    ],
)
def test_lists_stay(sentence: str) -> None:
    assert without_markers(sentence) == sentence


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("The treaty is on the list [1].", "The treaty is on the list."),
        ("The ship [1, 2, 3] sank in 1628 [1, 2].", "The ship sank in 1628."),
        ("Set x = [1, 2] [3].", "Set x = [1, 2]."),
        ("Sources: [1, 2]", "Sources:"),
        ("C++ [1] is old.", "C++ is old."),
    ],
)
def test_marks_beside_words_of_lists(sentence: str, bare: str) -> None:
    assert without_markers(sentence) == bare


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("Alpha.", "Alpha [3][1]."),
        ("Alpha", "Alpha [3][1]"),
        ('He said "Yes!"', 'He said "Yes [3][1]!"'),
        ("**Bold.**", "**Bold [3][1].**"),
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
