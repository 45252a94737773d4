"""Choice among the articles of one name: by the name, by the words around it, then by an encoder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factoid.encode import Encoder
from factoid.entities.articles.article import Name
from factoid.entities.articles.names import NameKind, name_key, split_title
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.stop_words import DETERMINERS_OF_QUESTIONS
from factoid.entities.linkers.tokens import Word
from factoid.inner_products import products
from factoid.sentences import sentence_spans

_WORD = re.compile(r"\w+")
_NEAR = 60  # tokens on each side of a mention whose words speak for a candidate
_SPOKEN_FOR = 0.9  # share of the candidates that the text's words speak for
# The worth of a name of each kind, in links.
_WORTH = dict(zip(NameKind, (8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5), strict=True))
_TRUST_IN_BASE = 0.75  # "Air" for "Air (album)"
_TEMPERATURE = 0.1  # of the shares of tied candidates
# In cosines: how much more the text must favour one article than the bare name does ("Heron?" favours the bird).
_MARGIN = 0.08
_MOST = 64  # tied candidates that are compared, from the first on
_FIRST_SENTENCE = 400  # characters of an article in which its first sentence is looked for


@dataclass(frozen=True, slots=True)
class Option:
    """An article that a name may mean."""

    article_id: int  # its number in its store
    title: str
    rank: tuple[float, ...]  # orders the options, lower first; options of equal rank are tied
    share: float  # how likely it is; the shares of a name's options add up to 1
    trust: float = 1.0  # how likely the name means the article at all; less than 1 for texts of links and bare titles


def rank_options(names: Iterable[Name], around: Mapping[str, int]) -> list[Option]:
    """Return the articles that the names of one key may mean, the most likely first: by words around, links, and `NameKind`."""
    by_article: dict[int, list[Name]] = {}
    for name in names:
        by_article.setdefault(name.article_id, []).append(name)
    suffixes = {article: split_title(some[0].title)[1] for article, some in by_article.items()}
    articles = [article for article, suffix in suffixes.items() if suffix.casefold() != "disambiguation"]
    by_article = {article: by_article[article] for article in articles} or by_article
    entries = []
    for article, some in by_article.items():
        title, kind, links = some[0].title, min(name.kind for name in some), sum(name.count for name in some)
        weight = links + _WORTH[kind]
        said, distance = _spoken_for(suffixes[article], title, around)
        rank = (-2, distance, -weight) if said == 2 else (0, -weight, -said)
        by_links = links / (links + 1)
        trust = {NameKind.ANCHOR: by_links, NameKind.BASE: max(by_links, _TRUST_IN_BASE)}.get(kind, 1.0)
        entries.append((rank, title, article, weight, 1.0 if said else trust))
    entries.sort()
    first = sum(rank[0] == -2 for rank, *_ in entries)  # options that the text speaks for go first
    groups = [(entries[:first], _SPOKEN_FOR), (entries[first:], 1 - _SPOKEN_FOR)]
    options = []
    for group, share in groups if 0 < first < len(entries) else [(entries, 1.0)]:
        total = sum(weight for _, _, _, weight, _ in group)
        options += [Option(article, title, rank, share * w / total, trust) for rank, title, article, w, trust in group]
    return options


def words_around(words: Sequence[Word], first: int, last: int) -> dict[str, int]:
    """Return the keys of the words near a mention that may say what it is, with their distances from it in tokens.

    Left out are words that say what the answer is: "Which band wrote it?"
    """
    begin, end = max(0, first - _NEAR), min(len(words), last + 1 + _NEAR)
    around: dict[str, int] = {}
    asked = False
    for at in range(begin, end):
        word = words[at]
        key = word.token.key
        if first <= at <= last:
            asked = False  # "Which Opus player is it?"
        elif word.is_word:
            if key in DETERMINERS_OF_QUESTIONS:
                asked = True
            elif word.stop:
                asked = asked and key in ("kind", "sort", "type", "of")  # "what kind of music" still asks
            elif not asked:
                key = _singular(key)
                around[key] = min(around.get(key, _NEAR), first - at if at < first else at - last)
        else:
            asked = False
    return around


def _spoken_for(suffix: str, title: str, around: Mapping[str, int]) -> tuple[int, int]:
    """Return how much of a title's suffix the text says (2 all, 1 a part, 0 nothing), and the distance."""
    words = [_singular(word) for word in _WORD.findall(name_key(suffix))] if around else []
    distances = [around[word] for word in words if word in around]
    if not distances:
        return 0, 0
    # The last word of "English band" says what it is; a part of "Clark County, Illinois" says nothing.
    says_it = len(distances) == len(words) or (title.endswith(")") and words[-1] in around)
    return 1 + says_it, min(distances)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def count_tied(options: Sequence[Option]) -> int:
    """Return how many of some options, best first, are tied with the best."""
    return sum(option.rank == options[0].rank for option in options)


def _compared(options: Sequence[Option]) -> Sequence[Option]:
    return options[: min(count_tied(options), _MOST)]


def break_ties(
    encoder: Encoder, store: ArticleStore, tied: Sequence[tuple[str, str, list[Option]]]
) -> list[tuple[list[Option], bool]]:
    """Order tied options by how similar title and first sentence are to the text, and return whether they are still tied.

    A mention is given as the text around it, its name as written there, and its options, best first.
    """
    texts = list(dict.fromkeys([*(text for text, _, _ in tied), *(name for _, name, _ in tied)]))
    articles = list(dict.fromkeys(option.article_id for _, _, options in tied for option in _compared(options)))
    sentences = [_first_sentence(store, article) for article in articles]
    queries = dict(zip(texts, encoder.encode_queries(texts), strict=True))
    units = dict(zip(articles, encoder.encode_units(sentences), strict=True))
    return [_break_tie(queries[text], queries[name], units, options) for text, name, options in tied]


def _break_tie(
    text: np.ndarray, name: np.ndarray, units: dict[int, np.ndarray], options: list[Option]
) -> tuple[list[Option], bool]:
    compared = _compared(options)
    vectors = np.stack([units[option.article_id] for option in compared])
    to_text, to_name = (products(vectors, query).astype(np.float64) for query in (text, name))
    weights = np.exp((to_text - to_text.max()) / _TEMPERATURE)
    weights *= sum(option.share for option in compared) / weights.sum()
    order = np.argsort(-to_text, kind="stable")
    ordered = [replace(compared[at], share=float(weights[at])) for at in order]
    gains = (to_text - to_name)[order]
    return ordered + options[len(compared) :], bool(gains[0] - gains[1:].max() < _MARGIN)


def _first_sentence(store: ArticleStore, article_id: int) -> str:
    article = store.find(article_id)
    if article is None:  # deleted since it was found
        return ""
    head = article.text[:_FIRST_SENTENCE]
    spans = sentence_spans(head)
    return f"{article.title}. {head[: spans[0][1]].strip()}" if spans else article.title
