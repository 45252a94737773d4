from __future__ import annotations

import pytest
from llama_index.core.evaluation import BatchEvalRunner, RetrieverEvaluator
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from factoid.errors import InvalidInputError
from langchain_factoid import evaluator
from llama_index_factoid import AnswerEvaluator, TextMetric

TEXTS = ["She had 64 guns.", "The Vasa sank in 1628.", "Divers found her in 1956."]
MEASURES = ["Success@1", "Success@5", "R@5", "nDCG@10", "MRR", "within 8 words"]


class Retriever(BaseRetriever):
    def __init__(self, texts):
        super().__init__()
        self.texts = texts

    def _retrieve(self, query):
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in self.texts]


async def evaluated(metrics, expected, texts=TEXTS):
    judge = RetrieverEvaluator(metrics=metrics, retriever=Retriever(texts))
    return await judge.aevaluate(
        "When?", expected_ids=["of another splitter"], expected_texts=expected
    )


@pytest.mark.parametrize(
    "expected", [[TEXTS[1]], [TEXTS[0], "in 1956", "nobody was punished"], ["1628"]]
)
async def test_the_metrics_of_an_evaluator(expected):
    found = (
        await evaluated([TextMetric(measure) for measure in MEASURES], expected)
    ).metric_vals_dict
    assert list(found) == MEASURES
    for measure in MEASURES:
        same = evaluator(measure)(outputs=TEXTS, reference_outputs={"quotes": expected})
        assert found[measure] == same["score"]


async def test_values():
    result = await evaluated(
        [TextMetric("R@5"), TextMetric("MRR")], [TEXTS[1], "nobody was punished"]
    )
    assert result.metric_vals_dict == {"R@5": 0.5, "MRR": 0.5}
    result = await evaluated([TextMetric("R@5", expected="answers")], ["1628", "in the year 1628"])
    assert result.metric_vals_dict == {"R@5": 1}


async def test_nothing_retrieved_is_0():
    result = await evaluated([TextMetric(measure) for measure in MEASURES], [TEXTS[1]], [])
    assert result.metric_vals_dict == dict.fromkeys(MEASURES, 0)


async def test_errors():
    with pytest.raises(InvalidInputError, match="give expected_texts"):
        await evaluated([TextMetric()], None)
    with pytest.raises(InvalidInputError, match="use AnswerEvaluator"):
        TextMetric("F1")
    with pytest.raises(InvalidInputError, match="expected a measure such as"):
        TextMetric("P@5")
    with pytest.raises(InvalidInputError, match="expected EM or F1, got 'Success@5'"):
        AnswerEvaluator("Success@5")
    with pytest.raises(InvalidInputError, match="nothing was expected"):
        await AnswerEvaluator().aevaluate(response="1628")


async def test_answers():
    result = await AnswerEvaluator("F1").aevaluate(
        query="When?", response="in 1628", reference=["the year 1628", "10 August"]
    )
    assert (result.score, result.passing, result.query) == (pytest.approx(0.5), True, "When?")
    result = await AnswerEvaluator("EM").aevaluate(response="in 1628", reference="1628")
    assert (result.score, result.passing) == (0, False)


@pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning")  # of LlamaIndex itself
async def test_a_batch_of_answers():
    runner = BatchEvalRunner({"F1": AnswerEvaluator()}, workers=2)
    results = await runner.aevaluate_response_strs(
        queries=["When?", "Where?"],
        response_strs=["1628", "nowhere"],
        reference=["1628", "Stockholm"],
    )
    assert [result.score for result in results["F1"]] == [1, 0]
