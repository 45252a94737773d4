"""Ties between the articles of one name, broken by what the text and the articles are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from factoid.encode import Encoder
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.disambiguation import Option
from factoid.products import products
from factoid.sentences import sentence_spans

_TEMPERATURE = 0.1  # of the shares of tied candidates
# A bare name is nearer to one article than to the other as well ("Heron?" to the bird): what decides is by how much more the
# text is. Of 48 questions about one of two entities, all-MiniLM-L6-v2 puts 44 in the right order. This margin, of cosines,
# calls 31 of them decided, none of the 4 others, and 4% of questions that say nothing ("What is Heron?").
_MARGIN = 0.08
_MOST = 64  # tied candidates that are compared: the first of their order
_FIRST_SENTENCE = 400  # characters of an article in which its first sentence is looked for
_NEAR = 300  # characters of the text on each side of a mention


def text_around(text: str, start: int, end: int) -> str:
    """Return what the encoder is shown of a text: all of a question, of a long text what is near the mention."""
    if len(text) <= 2 * _NEAR:
        return text
    return text[max(0, start - _NEAR) : end + _NEAR]


def count_tied(options: Sequence[Option]) -> int:
    """Return how many of some options, best first, nothing tells from the best."""
    return sum(option.rank == options[0].rank for option in options)


def break_ties(
    encoder: Encoder, store: ArticleStore, tied: Sequence[tuple[str, str, list[Option]]]
) -> list[tuple[list[Option], bool]]:
    """Order the tied options of some mentions by how similar title and first sentence are to the text.

    Args:
        encoder: Encodes texts as queries and articles as units; each only once.
        store: Holds the articles.
        tied: Of each mention the text around it, its name as it stands there, and its options, best first.

    Returns:
        Of each mention its options, best first, and whether there still is a tie: whether the first option is ahead of
        another by less than 0.08 more in the similarity to the text than in that to the name alone. The tied options' common
        share is divided by the softmax of their similarities to the text.
    """
    if not tied:
        return []
    texts = list(dict.fromkeys([*(text for text, _, _ in tied), *(name for _, name, _ in tied)]))
    articles = list(dict.fromkeys(option.article_id for _, _, options in tied for option in _compared(options)))
    queries = dict(zip(texts, encoder.encode_queries(texts), strict=True))
    units = dict(
        zip(articles, encoder.encode_units([_first_sentence(store, article) for article in articles]), strict=True)
    )
    return [_break_tie(queries[text], queries[name], units, options) for text, name, options in tied]


def _compared(options: Sequence[Option]) -> Sequence[Option]:
    return options[: min(count_tied(options), _MOST)]


def _break_tie(
    text: np.ndarray, name: np.ndarray, units: dict[int, np.ndarray], options: list[Option]
) -> tuple[list[Option], bool]:
    compared = _compared(options)
    vectors = np.stack([units[option.article_id] for option in compared])
    similarities, unasked = (products(vectors, query).astype(np.float64) for query in (text, name))
    weights = np.exp((similarities - similarities.max()) / _TEMPERATURE)
    weights *= sum(option.share for option in compared) / weights.sum()
    order = np.argsort(-similarities, kind="stable")
    ordered = [replace(compared[at], share=float(weights[at])) for at in order]
    told = (similarities - unasked)[order]
    return ordered + options[len(compared) :], bool(told[0] - told[1:].max() < _MARGIN)


def _first_sentence(store: ArticleStore, article_id: int) -> str:
    article = store.article(article_id)
    head = article.text[:_FIRST_SENTENCE]
    spans = sentence_spans(head) if head.strip() else []
    return f"{article.title}. {head[: spans[0][1]].strip()}" if spans else article.title
