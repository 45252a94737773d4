"""Whatever a model answers, no sentence of the passage is lost: the malformed outputs, against a real passage."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from factoid import Document, split_passages, split_sentences
from factoid.propositions import NoPropositions, decompose
from factoid.propositions.parse import parse_propositions, read_propositions
from factoid.testing import ScriptedPropositionizer
from tests.propositions.test_parse import READABLE, UNREADABLE, A, B, C

# The passage of Dense X Retrieval's Figure 2, and its propositions there.
TEXT = (
    "Prior to restoration work performed between 1990 and 2001, the tower leaned at an angle of 5.5 degrees, but the "
    "tower now leans at about 3.99 degrees. This means the top of the Leaning Tower of Pisa is displaced horizontally "
    "3.9 meters (12 ft 10 in) from the center."
)
FACTS = [
    "Prior to restoration work performed between 1990 and 2001, the Leaning Tower of Pisa leaned at an angle of 5.5 degrees.",
    "The Leaning Tower of Pisa now leans at about 3.99 degrees.",
    "The top of the Leaning Tower of Pisa is displaced horizontally 3.9 meters (12 ft 10 in) from the center.",
]
(PASSAGE,) = split_passages(Document(TEXT, title="Leaning Tower of Pisa"))
SENTENCES = split_sentences(PASSAGE)


def answered(output, *, cut_off=False):
    """Decompose the passage with a model that gives this answer; check that nothing is lost or invented."""
    texts = read_propositions(output, cut_off=cut_off)
    result = decompose([PASSAGE], ScriptedPropositionizer(lambda _: texts))
    for sentence in SENTENCES:
        assert covered(sentence.text, [unit.text for unit in result.units]), output
    for unit in result.units:
        assert TEXT[unit.start : unit.end].strip()
        assert unit.parent_id == PASSAGE.id
        stands_in = unit.text in {sentence.text for sentence in SENTENCES}
        assert stands_in or not set(re.findall(r"\d+", unit.text)) - set(re.findall(r"\d+", TEXT))
    assert len({unit.text for unit in result.units}) == len(result.units) == result.report.propositions
    if isinstance(texts, NoPropositions):
        assert [unit.text for unit in result.units] == [sentence.text for sentence in SENTENCES]
        assert {unit.metadata["fallback"] for unit in result.units} == {texts.reason}
        assert result.report.failures == {texts.reason: 1}
    else:
        assert result.report.failed == 0
        marked = [unit for unit in result.units if unit.metadata.get("fallback") == "uncovered sentence"]
        assert len(marked) == result.report.uncovered
    return result


def covered(sentence, texts):
    """Tell whether at least half of a sentence's longer words and numbers are said, by another count than factoid's."""
    said = " ".join(texts).lower()
    words = {word[:5] for word in re.findall(r"\d+|[a-z]{4,}", sentence.lower())}
    return 2 * sum(word in said for word in words) >= len(words)


def about_the_tower(output):
    """Put the facts of the passage where the malformed output has its own."""
    for text, fact in zip((A, B, C), FACTS, strict=True):
        output = output.replace(text, fact)
    return output


@pytest.mark.parametrize("output", [output for output, _ in READABLE.values()], ids=READABLE)
def test_malformed_outputs_lose_no_sentence(output):
    answered(output)
    answered(about_the_tower(output))


@pytest.mark.parametrize("output", UNREADABLE)
def test_unreadable_outputs_lose_no_sentence(output):
    assert answered(output).report.failed == 1


@settings(max_examples=200, deadline=None)
@given(st.text("ab .,:[]{}\"'“”‘’\\/#-1\n`", max_size=60) | st.text(max_size=60), st.booleans())
@example('["\ud800"]', False)
def test_any_answer_loses_no_sentence(output, cut_off):
    answered(output, cut_off=cut_off)


@pytest.mark.parametrize("length", [300, 8000])
@pytest.mark.parametrize("period", [1, 2])
def test_a_model_that_loops_until_its_token_limit_says_each_thing_once(length, period):
    loop = FACTS[1 : 1 + period]
    output = json.dumps(loop * (length // 20))[:length]
    result = answered(output, cut_off=True)
    assert [unit.text for unit in result.units if "fallback" not in unit.metadata] == loop
    assert (result.report.duplicates, result.report.failed) == (len(parse_propositions(output)) - period, 0)
