"""Nothing is lost: failures, gaps, repetitions and inventions of a propositionizer."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, Granularity, SyntaxPropositionizer, split_passages, split_sentences
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions import (
    CachedPropositionizer,
    Decomposition,
    NoPropositions,
    Report,
    adecompose,
    decompose,
)
from factoid.testing import ScriptedPropositionizer

TEXT = "The tower leans at 5.5 degrees. It was restored in 1990. Galileo visited it."
DOCUMENT = Document(TEXT, title="Pisa", section="Sights", id="pisa", metadata={"year": 1990})
(PASSAGE,) = split_passages(DOCUMENT)
FACTS = [
    "The tower leans at 5.5 degrees.",
    "The tower was restored in 1990.",
    "Galileo visited the tower.",
]


def said(*propositions, **options):
    return decompose([PASSAGE], ScriptedPropositionizer({TEXT: propositions}), **options)


def texts(result):
    return [unit.text for unit in result.units]


def answering(outputs):
    return SimpleNamespace(name="fixed", propositionize=lambda passages: outputs)


def test_all_that_a_proposition_carries():
    result = said(*FACTS)
    assert texts(result) == FACTS
    assert [TEXT[unit.start : unit.end] for unit in result.units] == [
        "The tower leans at 5.5 degrees.",
        "It was restored in 1990.",
        "Galileo visited it.",
    ]
    for unit in result.units:
        assert (unit.granularity, unit.document_id, unit.parent_id) == (
            Granularity.PROPOSITION,
            "pisa",
            PASSAGE.id,
        )
        assert (unit.title, unit.section, unit.metadata) == ("Pisa", "Sights", {"year": 1990})
    assert len({unit.id for unit in result.units}) == 3
    assert result.report == Report(passages=1, propositions=3)
    assert decompose(iter([PASSAGE]), ScriptedPropositionizer({TEXT: FACTS})) == result


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ([], "empty output"),
        (["", " \n"], "empty output"),
        (NoPropositions("timed out"), "timed out"),
    ],
)
def test_a_passage_that_fails_falls_back_to_its_sentences(output, reason, caplog):
    with caplog.at_level(logging.INFO, "factoid"):
        result = decompose([PASSAGE], answering([output]))
    sentences = split_sentences(PASSAGE)
    assert texts(result) == [unit.text for unit in sentences]
    assert [(unit.start, unit.end) for unit in result.units] == [
        (unit.start, unit.end) for unit in sentences
    ]
    assert {unit.granularity for unit in result.units} == {Granularity.PROPOSITION}
    assert [unit.metadata for unit in result.units] == [{"fallback": reason, "year": 1990}] * 3
    assert result.report == Report(passages=1, propositions=3, failures={reason: 1})
    assert result.report.failed == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"1 passage fell back to sentences (1 {reason})" in caplog.text


def test_a_sentence_that_no_proposition_covers_is_added_where_it_stands():
    result = said(FACTS[2], FACTS[0])
    assert texts(result) == [FACTS[0], "It was restored in 1990.", FACTS[2]]
    assert [unit.metadata.get("fallback") for unit in result.units] == [
        None,
        "uncovered sentence",
        None,
    ]
    assert result.report == Report(passages=1, propositions=3, uncovered=1)


def test_unsupported_propositions_by_policy():
    invented = "Napoleon restored it."
    outputs = [FACTS[0], invented, FACTS[1], FACTS[2]]
    stand_in = "It was restored in 1990."
    expected = {"drop": FACTS, "keep": outputs, "sentence": [FACTS[0], stand_in, *FACTS[1:]]}
    for policy, propositions in expected.items():
        result = said(*outputs, unsupported=policy)
        assert (texts(result), result.report.unsupported, result.report.uncovered) == (
            propositions,
            1,
            0,
        )
    assert result.units[1].metadata["fallback"] == "unsupported proposition"
    assert said(*outputs) == said(*outputs, unsupported="drop")


def test_what_was_said_counts_before_its_stand_in():
    for propositions in ([FACTS[0], "The tower was shaken."], ["The tower was shaken.", FACTS[0]]):
        result = said(*propositions, *FACTS[1:], unsupported="sentence")
        assert texts(result) == FACTS
        assert [unit.metadata for unit in result.units] == [{"year": 1990}] * 3
        assert result.report == Report(passages=1, propositions=3, unsupported=1)


def test_repetitions_are_left_out_and_counted():
    result = said(*FACTS, f"  {FACTS[0]}\n", FACTS[1].replace(" ", "\u00a0\t"), "")
    assert texts(result) == FACTS
    assert result.report.duplicates == 3


def test_characters_that_leave_no_trace_are_in_no_proposition():
    document = Document("The wa\u00adter is\u200b cold.\ufeff One is \u05d4\u200f.", id="d")
    units = decompose(split_passages(document), SyntaxPropositionizer(), log=False).units
    assert [unit.text for unit in units] == ["The water is cold.", "One is \u05d4\u200f."]
    assert [document.text[unit.start : unit.end] for unit in units] == [
        "The wa\u00adter is\u200b cold.",
        "One is \u05d4\u200f.",
    ]


def test_broken_characters_of_a_model_are_mended():
    result = said(*FACTS[:2], "Galileo\udfff visited the tower \ud83d\ude00.")
    assert texts(result)[2] == "Galileo\ufffd visited the tower 😀."


@pytest.mark.parametrize(
    "outputs",
    [
        [None],
        ["one string"],
        [[None]],
        [[["nested"]]],
        None,
        iter([["a"]]),
        {"a": 1},
        "a",
        [],
        [["a"], ["b"]],
    ],
)
def test_outputs_are_one_list_of_strings_for_each_passage(outputs, tmp_path):
    for propositionizer in (
        answering(outputs),
        CachedPropositionizer(answering(outputs), tmp_path / "c"),
    ):
        with pytest.raises(
            PropositionizerError,
            match=r"expected one list of strings for each of 1 passages, .*returned",
        ):
            decompose([PASSAGE], propositionizer)


@pytest.mark.parametrize("value", ["flan", None, SyntaxPropositionizer])
def test_what_is_no_propositionizer(value):
    for use in (
        lambda: decompose([PASSAGE], value),
        lambda: CachedPropositionizer(value, "unused"),
    ):
        with pytest.raises(
            InvalidInputError, match=r"a method propositionize\(passages\), such as .*\(\), got .*"
        ):
            use()


def test_no_passages_and_an_unknown_policy_ask_no_model():
    propositionizer = ScriptedPropositionizer({})
    assert decompose([], propositionizer) == Decomposition()
    assert decompose([replace(PASSAGE, text=" \n")], propositionizer) == Decomposition(
        report=Report(passages=1)
    )
    with pytest.raises(InvalidInputError, match="one of drop, keep, sentence, got 'remove'"):
        decompose([PASSAGE], propositionizer, unsupported="remove")
    assert propositionizer.calls == []


def test_reports_add_up_and_read_well():
    total = Report(1, 3, {"timed out": 1}) + Report(2, 5, {"refused": 2, "timed out": 1}, 1, 2, 3)
    assert total == Report(3, 8, {"refused": 2, "timed out": 2}, 1, 2, 3)
    assert str(total) == (
        "3 passages → 8 propositions; 4 passages fell back to sentences (2 refused, 2 timed out), 1 unsupported, "
        "2 sentences added, 3 duplicates left out"
    )
    assert "3 passages (2 from the cache) →" in str(total + Report(cached=2, transient=1))
    assert "another try may mend 1" in str(total + Report(cached=2, transient=1))
    assert Report() + total == total


class Working(ScriptedPropositionizer):
    """Knows in which thread it works."""

    thread = None

    def propositionize(self, passages):
        self.thread = threading.current_thread()
        return super().propositionize(passages)


class Awaiting(Working):
    async def apropositionize(self, passages):
        await asyncio.sleep(0)
        return self.propositionize(passages)


async def test_async_awaits_what_can_await_and_moves_the_rest_to_a_thread():
    awaiting, working = Awaiting({TEXT: FACTS}), Working({TEXT: FACTS})
    assert (
        await adecompose([PASSAGE], awaiting)
        == said(*FACTS)
        == await adecompose([PASSAGE], working)
    )
    assert awaiting.thread is threading.main_thread() is not working.thread
    assert await adecompose([], awaiting) == Decomposition()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from([*FACTS, "Napoleon came.", "tower", "1990", "", " ", "So be it.", "😀"])
        | st.text("ab .,[]\"'`1\n", max_size=20),
        max_size=6,
    ),
    st.sampled_from(["drop", "keep", "sentence"]),
)
def test_whatever_is_said_every_sentence_is_found_again(propositions, policy):
    result = said(*propositions, unsupported=policy)
    assert (
        len({unit.id for unit in result.units}) == len(result.units) == result.report.propositions
    )
    starts = [
        next(i for i, s in enumerate(split_sentences(PASSAGE)) if s.end > unit.start)
        for unit in result.units
    ]
    assert policy == "keep" or starts == sorted(starts)
    for unit in result.units:
        assert PASSAGE.start <= unit.start < unit.end <= PASSAGE.end
        assert unit.text.strip() == unit.text != ""
    for sentence in split_sentences(PASSAGE):
        assert any(unit.start < sentence.end and sentence.start < unit.end for unit in result.units)


async def test_a_passage_that_is_propositions_line_by_line_is_not_asked_about():
    document = Document("Bo ran. He won.\n\nCy slept.", metadata={"propositions": "lines"})
    written = split_passages(document)
    other = split_passages(Document("Al sang."))
    script = ScriptedPropositionizer({"Al sang.": ["Al sang."]})
    passages = [*written, *other]
    result, awaited = decompose(passages, script), await adecompose(passages, script)
    assert [unit.text for unit in result.units] == ["Bo ran. He won.", "Cy slept.", "Al sang."]
    assert result == awaited
    assert script.calls == [other, other]
    assert result.report.failed == result.report.uncovered == result.report.unsupported == 0


def test_what_rules_leave_as_it_stands_is_no_warning(caplog):
    class Rules(ScriptedPropositionizer):
        costly = False

    with caplog.at_level(logging.INFO, "factoid"):
        assert decompose([PASSAGE], Rules({TEXT: []})).report.failed == 1
    assert [record.levelname for record in caplog.records] == ["INFO"]
