"""The measures of `factoid compare` as LlamaIndex's metrics and evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.evaluation.retrieval.metrics_base import (
    BaseRetrievalMetric,
    RetrievalMetricResult,
)

from factoid.framework import (
    InvalidInputError,
    check_measure,
    is_of_answers,
    measure_answer,
    measure_texts,
)


class TextMetric(BaseRetrievalMetric):
    """Judges retrieved nodes by their texts, which survive another splitter, and not by their ids.

    Pass it to a `RetrieverEvaluator`, and `expected_texts` to `evaluate`. Nothing retrieved is a
    score of 0, and no error.

    Attributes:
        measure: Success@k, R@k, nDCG@k, MRR or "within l words", as in docs/compare.md.
        expected: Whether the expected texts are quotes, each of which is to be found, or answers,
            of which any will do.
    """

    measure: str = "Success@5"
    expected: Literal["quotes", "answers"] = "quotes"

    def __init__(self, measure: str = "Success@5", **options: Any) -> None:
        check_measure(measure)
        if is_of_answers(measure):
            raise InvalidInputError(f"{measure} is a measure of answers: use AnswerEvaluator")
        fields = {"measure": measure, **options}
        super().__init__(**fields)

    @property
    def metric_name(self) -> str:  # type: ignore[override]
        """The measure: several metrics of one evaluator are told apart by it."""
        return self.measure

    def compute(
        self,
        query: str | None = None,  # noqa: ARG002 - as the base class
        expected_ids: list[str] | None = None,  # noqa: ARG002
        retrieved_ids: list[str] | None = None,  # noqa: ARG002
        expected_texts: list[str] | None = None,
        retrieved_texts: list[str] | None = None,
        **_: Any,
    ) -> RetrievalMetricResult:
        """Return the measure of one question.

        Raises:
            InvalidInputError: No texts are expected.
        """
        if not expected_texts:
            raise InvalidInputError("give expected_texts to evaluate(): quotes, or answers")
        score = measure_texts(self.measure, retrieved_texts or [], {self.expected: expected_texts})
        return RetrievalMetricResult(score=score)


class AnswerEvaluator(BaseEvaluator):
    """Compares a response with a reference, as SQuAD v1.1 does. No model is asked.

    Args:
        measure: "F1" or "EM".
        passing: The least score that passes.

    Raises:
        InvalidInputError: There is no such measure.
    """

    def __init__(self, measure: str = "F1", *, passing: float = 0.5) -> None:
        if not is_of_answers(measure):
            raise InvalidInputError(f"expected EM or F1, got {measure!r}")
        self.measure = measure
        self.passing = passing

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """There are none."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | Sequence[str] | None = None,
        **_: Any,
    ) -> EvaluationResult:
        """Return the score of a response.

        Args:
            query: The question, which is returned.
            response: The answer.
            contexts: Returned.
            reference: The expected answer, or several, of which the best fits.

        Raises:
            InvalidInputError: There is no reference.
        """
        answers = reference
        if isinstance(reference, str):
            answers = [reference]
        score = measure_answer(self.measure, response or "", {"answers": list(answers or ())})
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            score=score,
            passing=score >= self.passing,
        )
