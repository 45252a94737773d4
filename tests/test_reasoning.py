"""What a model wrote while it thought is found, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.reasoning import open_reasoning, reasoning_spans, without_reasoning

PIECES = [
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
]
PIECES += [
    "a. ",
    '"',
    "`",
    "```\n",
    "\n",
    "<|end|>",
    "assistantfinal",
    "analysisW",
    "</details>",
    "[1]",
]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>a</think>B", "B"),
        ("<THOUGHTS>a</Thoughts>B", "B"),
        ("<think>a</thinking>B", "B"),
        (
            "<think>a</think>B <think>c</think>D",
            "B <think>c</think>D",
        ),  # within a line that has not ended
        ("<think>a</think>B. <think>c</think>D", "B. D"),
        ("<think>a <think> b</think> c</think>D", "D"),
        ("a</think>B", "B"),
        ("<unused94>thought\na<unused95>B", "B"),
        ("a[/THINK]\nB", "\nB"),
        ("B\n<think>a", "B\n"),
        ("<seed:think>a</seed:think>B", "B"),
        ("<|begin_of_thought|>a<|end_of_thought|>B", "B"),
        ("<|START_THINKING|>a<|END_THINKING|>B", "B"),
        ("◁think▷a◁/think▷B", "B"),
        ("<|channel>thought\na<channel|>B", "B"),
        (
            "<|channel|>commentary to=f<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
            "B",
        ),
        ("<|channel|>final<|message|>B", "B"),
        ("Analysis: B", "Analysis: B"),
        ("A quick analysis</details> of B", "A quick analysis</details> of B"),
        ('He writes "<think>" and "</think>".', 'He writes "<think>" and "</think>".'),
        ("`<think>` and `</think>`.", "`<think>` and `</think>`."),
        ("The <think> tag", "The <think> tag"),
        ("The <think> tag ends at </think>. B", "The <think> tag ends at </think>. B"),
        ("As follows <think>a\nb</think> B", "As follows  B"),
        ("a < thinking > b", "a < thinking > b"),
        ("See [THINKING] and <thinker>", "See [THINKING] and <thinker>"),
    ],
)
def test_reasoning_is_left_out(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer


def test_the_tag_around_a_place() -> None:
    text = "<think>a</think>B\n[THINK]c"
    assert [open_reasoning(text, text.index(letter)) for letter in "aBc"] == [
        "<think>",
        "",
        "[THINK]",
    ]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_spans_lie_in_the_text_in_order(text: str) -> None:
    ends = [0, *(place for span in reasoning_spans(text) for place in span), len(text)]
    assert ends == sorted(ends)
    assert len(without_reasoning(text)) <= len(text)
