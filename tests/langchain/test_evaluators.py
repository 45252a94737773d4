from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import exact_match, f1
from langchain_factoid import evaluator

TEXTS = ["She had 64 guns.", "The Vasa sank in 1628.", "Divers found her in 1956, near Beckholmen."]
QUOTE = {"quote": "The *Vasa*  sank in 1628"}
ANSWERS = {"answers": ["1628", "10 August 1628"]}


@pytest.mark.parametrize(
    "documents", [TEXTS, [Document(text) for text in TEXTS], [{"page_content": t} for t in TEXTS]]
)
@pytest.mark.parametrize(
    "reference", [QUOTE, ANSWERS, {"ground_truth": "1628"}, {"reference_contexts": [TEXTS[1]]}]
)
@pytest.mark.parametrize(
    ("measure", "score"),
    [
        ("Success@1", 0),
        ("Success@5", 1),
        ("MRR", 0.5),
        ("R@5", 1),
        ("within 8 words", 0),
        ("within 10 words", 1),
    ],
)
def test_documents_are_judged_by_their_texts(documents, reference, measure, score):
    result = evaluator(measure)(
        inputs={}, outputs={"documents": documents}, reference_outputs=reference
    )
    if (
        measure == "within 8 words"
        and "quote" not in reference
        and "reference_contexts" not in reference
    ):
        score = 0  # 1628 is the ninth word
    assert (result["key"], result["score"]) == (measure, score)


def test_several_quotes_are_several_pieces():
    reference = {"contexts": [TEXTS[0], TEXTS[2], "Nobody was punished."]}
    assert evaluator("R@5")(outputs=TEXTS, reference_outputs=reference)["score"] == pytest.approx(
        2 / 3
    )
    assert (
        evaluator("Success@1")(outputs={"context": TEXTS}, reference_outputs=reference)["score"]
        == 1
    )


@given(
    st.text("ab the,. ", max_size=12),
    st.lists(st.text("ab the,. ", min_size=1, max_size=9), min_size=1, max_size=3),
)
def test_answers_are_judged_as_in_squad(answer, expected):
    expected = [text for text in expected if text.strip()] or ["a b"]
    reference = {"answers": expected}
    stripped = list(dict.fromkeys(text.strip() for text in expected))
    assert evaluator("EM")(outputs={"answer": answer}, reference_outputs=reference)[
        "score"
    ] == exact_match(answer, stripped)
    assert evaluator("F1")(outputs=answer, reference_outputs=reference)["score"] == f1(
        answer, stripped
    )


def test_a_named_field():
    result = evaluator(field="hits")(
        outputs={"hits": TEXTS, "documents": []}, reference_outputs=ANSWERS
    )
    assert result["score"] == 1


@pytest.mark.parametrize(
    ("measure", "outputs", "reference", "message"),
    [
        (
            "Success@5",
            {"text": 1},
            ANSWERS,
            "no field documents or context .*: name one by field=…; they have text",
        ),
        ("Success@5", {"documents": [1]}, ANSWERS, "expected documents or texts, got int"),
        ("Success@5", {"documents": TEXTS}, {"label": 1}, "nothing was expected: .*label"),
        ("F1", {"answer": "x"}, None, r"nothing was expected: .*\(none\)"),
        ("F1", {"documents": TEXTS}, ANSWERS, "no field answer"),
    ],
)
def test_what_is_missing_is_said(measure, outputs, reference, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluator(measure)(outputs=outputs, reference_outputs=reference)


@pytest.mark.parametrize("measure", ["P@5", "EM@100", "f1"])
def test_unknown_measures(measure):
    with pytest.raises(InvalidInputError, match="expected"):
        evaluator(measure)


def test_langsmith_runs_it(monkeypatch):
    langsmith = pytest.importorskip("langsmith")
    from langsmith.evaluation.evaluator import DynamicRunEvaluator, run_evaluator
    from langsmith.schemas import Example, Run

    judge = run_evaluator(evaluator("Success@1"))
    assert isinstance(judge, DynamicRunEvaluator)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    started = {
        "id": "0" * 8 + "-0000-4000-8000-000000000000",
        "start_time": "2026-01-01T00:00:00",
        "run_type": "chain",
    }
    run = Run(
        name="app", inputs={}, outputs={"documents": TEXTS[1:]}, trace_id=started["id"], **started
    )
    example = Example(id=started["id"], inputs={}, outputs={**ANSWERS}, dataset_id=started["id"])
    with langsmith.tracing_context(enabled=False):
        result = judge.evaluate_run(run, example)
    assert (result.key, result.score) == ("Success@1", 1)


def test_it_has_the_shape_of_openevals():
    types = pytest.importorskip("openevals.types", reason="needs openevals")
    exact = pytest.importorskip("openevals.exact", reason="needs openevals")
    ours = evaluator("EM")(inputs="?", outputs="1628", reference_outputs={"answer": "1628."})
    theirs = exact.exact_match(outputs="1628", reference_outputs="1628")
    assert set(ours) == set(theirs) <= set(types.EvaluatorResult.__annotations__)
    accepted = inspect.signature(evaluator("EM")).parameters
    protocol = inspect.signature(types.SimpleEvaluator.__call__).parameters
    for name, parameter in protocol.items():
        if name not in ("self", "kwargs"):
            assert accepted[name].kind == parameter.kind
