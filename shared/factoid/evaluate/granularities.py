"""P@1 and R@5 of ranked sentences and passages, by encoding level (AGRaME, Tables 1, 3 and 4).

With passages encoded, a late-interaction model ranks their sentences by `S(q, sentence) + α·S(q,
passage)` and the passages by the latter; a single-vector encoder ranks passages only. With
sentences encoded one by one, both rank a passage by its best sentence. A text is relevant if it
holds an answer (`has_answer_dpr`, the string match of these data sets). P@1 is the share of
questions whose first text is relevant, R@5 that of those with a relevant one among the first five.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr
from factoid.evaluate.rankings import top_k_accuracy
from factoid.heading_template import EMBED_TEMPLATE, with_heading
from factoid.inner_products import products
from factoid.late_interaction import AnyGranularityRanker
from factoid.sentences import sentence_spans
from factoid.units import Document, Granularity

HasAnswer = Callable[[str, Sequence[str]], bool]
Sentence = tuple[float, int, str]  # score, place of the passage, text
# sentences, and the scores of passages by their place
Ranked = tuple[list[Sentence] | None, dict[int, float]]
_FEW = 5  # R@5


@dataclass(frozen=True, slots=True)
class AskedPassages:
    """A question with passages to rank.

    Attributes:
        passages: The passages, such as the hundred best of a retriever, in its order.
        answers: Short answers; a text that holds any of them is relevant.
    """

    query: str
    passages: Sequence[Document]
    answers: Sequence[str]


@dataclass(frozen=True, slots=True)
class LevelScores:
    """One row of Table 3, from 0 to 1.

    Scores of ranked sentences, None if the model cannot rank them, and of ranked passages.

    Attributes:
        encoding: The unit encoded at once, sentence or passage.
    """

    encoding: Granularity
    sentence_p1: float | None
    sentence_r5: float | None
    passage_p1: float
    passage_r5: float
    questions: int


def score_levels(
    model: AnyGranularityRanker | Encoder,
    questions: Iterable[AskedPassages],
    *,
    has_answer: HasAnswer = has_answer_dpr,
) -> list[LevelScores]:
    """Measure rankings with sentences encoded and with passages encoded.

    The model is a ranker or a single-vector encoder; headings stand before texts as in the ranker's
    template, or `EMBED_TEMPLATE`.

    Raises:
        InvalidInputError: There are no questions, or one has no passages or answers.
    """
    questions = list(questions)
    for question in questions:
        if not question.passages:
            raise InvalidInputError(
                f"expected passages to rank, got none for {question.query!r:.80}: leave it out"
            )
    rows = []
    for level in (Granularity.SENTENCE, Granularity.PASSAGE):
        of_sentences = []
        of_passages = []
        for question in questions:
            sentences, passages = _rank(model, question, level)
            order = sorted(passages, key=lambda position: (-passages[position], position))[:_FEW]
            texts = [question.passages[position].text for position in order]
            of_passages.append([has_answer(text, question.answers) for text in texts])
            if sentences is not None:
                best = sorted(sentences, key=lambda row: (-row[0], row[1]))[:_FEW]
                of_sentences.append([has_answer(text, question.answers) for _, _, text in best])
        p1 = None
        r5 = None
        if of_sentences:
            p1 = top_k_accuracy(of_sentences, 1)
            r5 = top_k_accuracy(of_sentences, _FEW)
        of_passages_p1 = top_k_accuracy(of_passages, 1)
        of_passages_r5 = top_k_accuracy(of_passages, _FEW)
        rows.append(LevelScores(level, p1, r5, of_passages_p1, of_passages_r5, len(questions)))
    return rows


def _rank(model: Any, question: AskedPassages, level: Granularity) -> Ranked:
    if level is Granularity.SENTENCE:
        rows = []
        for position, passage in enumerate(question.passages):
            for start, end in sentence_spans(passage.text):
                sentence = Document(passage.text[start:end], passage.title, passage.section)
                rows.append((position, sentence))
        scores = _scores(model, question.query, [sentence for _, sentence in rows])
        sentences = []
        best: dict[int, float] = {}  # the score of the best sentence
        for number, (position, sentence) in enumerate(rows):
            score = scores[number]
            sentences.append((score, position, sentence.text))
            best[position] = max(score, best.get(position, score))
        return sentences, best
    if not isinstance(model, AnyGranularityRanker):
        return None, _scores(model, question.query, question.passages)
    hits = model.rank(question.query, question.passages, Granularity.SENTENCE)
    sentences = []
    passages = {}
    for hit in hits:
        passages[hit.position] = hit.parts[level.value]
        if hit.unit is not hit.passage:
            sentences.append((hit.score, hit.position, hit.unit.text))
    return sentences, passages


def _scores(model: Any, query: str, documents: Sequence[Document]) -> dict[int, float]:
    """Return the score of each document by its position; each is encoded as a whole."""
    if isinstance(model, AnyGranularityRanker):
        scores = {}
        for hit in model.rank(query, documents, Granularity.PASSAGE):
            scores[hit.position] = hit.score
        return scores
    texts = [with_heading(document, EMBED_TEMPLATE) for document in documents]
    query_vector = model.encode_queries([query])[0]
    scores_of_texts = products(model.encode_units(texts), query_vector)
    return dict(enumerate(scores_of_texts.tolist()))
