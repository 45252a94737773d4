"""How good citations are that are added to answers, by gold labels: PropCite, its ablations, and
simple ways (AGRaME, §4.3).

    python -m benchmarks.late_interaction.citations ../shared/data/expertqa/data/lfqa/rand_val.jsonl
    python -m benchmarks.late_interaction.citations \
        ../shared/data/clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl

Models: the token vectors of all-MiniLM-L6-v2 without a projection, for which it was not trained,
and the checkpoints named with `--model`. The encoder of "sentence embedding" is all-MiniLM-L6-v2,
the propositionizer SyntaxPropositionizer. Every way sees the same texts without titles. Where a
text to cite for has several sentences, it has the citations of all of them.

Precision and recall are means over answers (`factoid.evaluate.citations.score_gold`), in per cent.
Intervals are of differences from PropCite with the same model, or with the first one, by a paired
bootstrap over answers.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from benchmarks.late_interaction.baselines import cite_at_random, cite_by_vectors, cite_by_words
from benchmarks.late_interaction.gold import GoldAnswers, read_clapnq, read_expertqa
from benchmarks.ranking.measures import difference, table
from factoid.evaluate.vector_cache import VectorCache
from factoid import SentenceTransformerEncoder
from factoid.evaluate.citations import CitationScores, CitedText, mean_scores, score_gold
from factoid.late_interaction import LateInteractionEncoder, PropCite, TokenEncoder, TokenVectors
from factoid.sentences import sentence_spans

DRAWS = 20  # of the row "random"
WAYS: dict[str, dict[str, Any]] = {
    "PropCite": {},
    "+ margin of at least 1.0": {"min_margin": 1.0},
    "(ii) sentence as query": {"method": "sentence"},
}
"""PropCite, its margin, and the ablation (ii) of Table 9."""

Cite = Callable[[str, list[str]], list[int]]
"""Returns the places of the passages that a text cites."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="of ExpertQA, or of CLAP NQ's answerable questions")
    parser.add_argument(
        "--model", type=Path, action="append", default=[], help="a late-interaction checkpoint"
    )
    parser.add_argument("--answers", type=int, metavar="N", help="only the first so many")
    arguments = parser.parse_args()
    gold = read(arguments.file)
    answers = gold.answers[: arguments.answers]
    print(describe(gold, answers))
    minilm = LateInteractionEncoder(
        None, projection=False, max_tokens=256
    )  # the most tokens that it was trained on
    models: dict[str, TokenEncoder] = {"all-MiniLM-L6-v2's token vectors": RememberedTokens(minilm)}
    for path in arguments.model:
        models[path.name] = RememberedTokens(LateInteractionEncoder(path))
    print_scores(answers, models, SentenceTransformerEncoder())


def read(file: Path) -> GoldAnswers:
    """Read a file of ExpertQA or CLAP NQ."""
    with file.open(encoding="utf-8") as lines:
        return (read_clapnq if '"passages"' in next(lines) else read_expertqa)(file)


def describe(gold: GoldAnswers, answers: Sequence[CitedText]) -> str:
    sentences = 0
    passages = 0
    gold_passages = 0
    for answer in answers:
        sentences += len(answer.sentences)
        passages += len(answer.passages)
        gold_passages += len(list(chain.from_iterable(filter(None, answer.gold or ()))))
    left_out = "; ".join(f"{count} {what}" for what, count in gold.left_out.items())
    return (
        f"{len(answers)} answers with {sentences} texts to cite for; "
        f"{passages / len(answers):.1f} passages to choose from, "
        f"{gold_passages / sentences:.1f} of them gold. Left out: {left_out}"
    )


class RememberedTokens:
    """A token encoder that encodes a text once, since all ways to cite read the same."""

    def __init__(self, encoder: LateInteractionEncoder) -> None:
        self._encoder = encoder
        self._queries: dict[tuple[str, bool], TokenVectors] = {}
        self._passages: dict[str, TokenVectors] = {}

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        key = text, finer and self._encoder.has_finer_marker()
        if key not in self._queries:
            self._queries[key] = self._encoder.encode_query(text, finer=key[1])
        return self._queries[key]

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        new = [text for text in dict.fromkeys(texts) if text not in self._passages]
        self._passages |= zip(new, self._encoder.encode_passages(new), strict=True)
        return [self._passages[text] for text in texts]


def print_scores(
    answers: Sequence[CitedText], models: dict[str, TokenEncoder], encoder: Any
) -> None:
    """Print a row for each way to cite."""
    columns = [
        "precision",
        "recall",
        "citations each",
        "precision − PropCite's, 95 %",
        "recall − PropCite's, 95 %",
    ]
    row = table("way", columns)
    first = None
    for name, model in models.items():
        model.encode_passages(list(chain.from_iterable(map(texts_of, answers))))  # in full batches
        compared = None
        for way, options in WAYS.items():
            scores = judge(answers, propcited(PropCite(model, **options)), f"{way}, {name}")
            compared = compared or scores
            row(f"{way}, {name}", cells(scores, compared))
        first = first or compared
    cached = VectorCache(encoder, None)
    at_random = [by_sentence(partial(cite_at_random, seed=seed)) for seed in range(DRAWS)]
    simple: dict[str, list[Cite]] = {
        "sentence embedding, top 1": [by_sentence(lambda *texts: cite_by_vectors(*texts, cached))],
        "BM25, top 1": [by_sentence(cite_by_words)],
        "random": at_random,
        "all passages": [lambda _, passages: list(range(len(passages)))],
    }
    for way, draws in simple.items():
        scores_of_draws: list[CitationScores] = []
        for cite in draws:
            scores_of_draws += judge(answers, cite, way)
        row(way, cells(scores_of_draws, first or [], len(draws)))


def propcited(propcite: PropCite) -> Cite:
    """Return what cites with PropCite."""

    def cite(text: str, passages: list[str]) -> list[int]:
        citations = propcite.cite(text, passages).citations
        return list(dict.fromkeys(citation.position for citation in citations))

    return cite


def by_sentence(cite_each: Callable[[list[str], list[str]], list[list[int]]]) -> Cite:
    """Return what cites for each sentence of a text by itself."""

    def cite(text: str, passages: list[str]) -> list[int]:
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        return list(dict.fromkeys(chain.from_iterable(cite_each(sentences, passages))))

    return cite


def judge(answers: Sequence[CitedText], cite: Cite, name: str) -> list[CitationScores]:
    """Return the scores of each answer with the citations of one way."""
    cited = []
    for answer in tqdm(answers, desc=name, leave=False):
        passages = texts_of(answer)
        citations = [cite(text, passages) for text in answer.sentences]
        cited.append(replace(answer, citations=citations))
    return score_gold(cited)


def texts_of(answer: CitedText) -> list[str]:
    return [passage if isinstance(passage, str) else passage.text for passage in answer.passages]


def cells(
    scores: Sequence[CitationScores], compared: Sequence[CitationScores], draws: int = 1
) -> list[str]:
    """Return means over answers and draws, and differences from another way."""
    mean = mean_scores(scores)
    figures = [
        f"{100 * mean.precision:.1f}",
        f"{100 * mean.recall:.1f}",
        f"{mean.citations / mean.sentences:.2f}",
    ]
    if scores is compared:
        return [*figures, "", ""]
    pairs = zip(_columns(scores, draws), _columns(compared, 1), strict=True)
    return [*figures, *starmap(difference, pairs)]


def _columns(scores: Sequence[CitationScores], draws: int) -> list[NDArray[Any]]:
    """Return precision and recall of each answer, means over draws."""
    values = np.array([(score.precision, score.recall) for score in scores]).reshape(draws, -1, 2)
    return list(values.mean(axis=0).T)


if __name__ == "__main__":
    main()
