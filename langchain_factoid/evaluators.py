"""The measures of `factoid compare` as evaluators of LangSmith and openevals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from factoid.framework import (
    InvalidInputError,
    check_measure,
    is_of_answers,
    measure_answer,
    measure_texts,
)

Evaluator = Callable[..., dict[str, Any]]

_DOCUMENTS = ("documents", "context", "contexts", "retrieved", "sources")
_ANSWERS = ("answer", "output", "response", "result")


def evaluator(measure: str = "Success@5", *, field: str | None = None) -> Evaluator:
    """Return an evaluator for `langsmith.evaluate`, or to call as those of openevals.

    Of what an application returns, measures of results judge the documents, and "EM" and "F1" its
    answer. The example's reference holds quotes of the evidence, or answers. No model is asked.

    Args:
        measure: "EM" or "F1" of the answer; or of the documents Success@k, R@k, nDCG@k, MRR or
            "within l words", as in docs/compare.md.
        field: The field of the outputs that holds the documents or the answer. None for documents,
            context, contexts, retrieved or sources; or for answer, output, response or result.

    Raises:
        InvalidInputError: There is no such measure. The evaluator itself raises it if it finds no
            documents, no answer, or no reference.
    """
    check_measure(measure)

    def evaluate(
        *,
        outputs: Any,
        reference_outputs: Mapping[str, Any] | None = None,
        inputs: Any = None,  # noqa: ARG001 - named by both libraries
        **_: Any,
    ) -> dict[str, Any]:
        reference = reference_outputs or {}
        if is_of_answers(measure):
            answer = _field(outputs, field, _ANSWERS)
            score = measure_answer(measure, str(answer), reference)
        else:
            texts = _texts(_field(outputs, field, _DOCUMENTS))
            score = measure_texts(measure, texts, reference)
        return {"key": measure, "score": score, "comment": None, "metadata": None}

    evaluate.__name__ = measure
    return evaluate


def _field(outputs: Any, field: str | None, usual: Sequence[str]) -> Any:
    """Return a field of an application's outputs; outputs that are no mapping are the field."""
    if not isinstance(outputs, Mapping):
        return outputs
    names = usual
    if field is not None:
        names = (field,)
    for name in names:
        if name in outputs:
            return outputs[name]
    raise InvalidInputError(
        f"the outputs have no field {' or '.join(names)}: name one by field=…; they have "
        f"{', '.join(map(str, outputs)) or 'none'}"
    )


def _texts(documents: Any) -> list[str]:
    """Return the texts of documents, of their dicts, or of texts."""
    if isinstance(documents, str | Document | Mapping):
        documents = [documents]
    texts = []
    for document in documents:
        if isinstance(document, Document):
            texts.append(document.page_content)
        elif isinstance(document, Mapping) and "page_content" in document:
            texts.append(str(document["page_content"]))
        elif isinstance(document, str):
            texts.append(document)
        else:
            raise InvalidInputError(
                f"expected documents or texts, got {type(document).__name__} among them"
            )
    return texts
