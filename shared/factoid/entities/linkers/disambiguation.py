"""Which of the articles of one name a text means, as far as the name and the words around it tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from factoid.entities.articles.article import Name
from factoid.entities.articles.names import NameKind, canonical_title, name_key, split_title
from factoid.entities.linkers.casing import Word
from factoid.entities.linkers.stop_words import AUXILIARIES, DETERMINERS_OF_QUESTIONS

_WORD = re.compile(r"\w+")
_NEAR = 60  # tokens on each side of a mention whose words speak for a candidate
_SPOKEN_FOR = 0.9  # share of the candidates that the text's words speak for
# In links, what a name of each kind is worth. In a whole Wikipedia that is nothing; in a small collection a few links do not yet
# take a name from the article that is called so.
_WORTH = dict(zip(NameKind, (8.0, 4.0, 2.0, 1.0, 1.0, 0.5), strict=True))
_TRUST_IN_BASE = 0.75  # "Air" for "Air (album)"
_DISAMBIGUATION_PAGE = "disambiguation"


@dataclass(frozen=True, slots=True)
class Option:
    """An article that a name may mean.

    Attributes:
        article_id: Number of the article in its store.
        title: The article's title.
        rank: What orders the options, lower first; options of equal rank are not told apart.
        share: How likely it is, from 0 to 1; the options of a name add up to 1.
        trust: How far the name means the article at all, from 0 to 1: less than 1 for texts of links, and for titles without
            what tells them from others, where nothing near says that.
    """

    article_id: int
    title: str
    rank: tuple[float, ...]
    share: float
    trust: float = 1.0


def written_as(names: Sequence[Name], form: str) -> list[Name]:
    """Return the names that are written as in the text, but for the first letter's case."""
    wanted = canonical_title(form)
    return [name for name in names if canonical_title(name.form) == wanted]


def rank_options(names: Iterable[Name], around: Mapping[str, int]) -> list[Option]:
    """Return the articles that one name may mean, the most likely first.

    What tells a title from others of its name, as "planet" does in "Mercury (planet)", decides where the text has that word
    too, and of several the nearest word; then how many links of this text lead to each article; then what the name is to
    the article (see `NameKind`). Without counts a title has twice the share of a redirect, that twice the share of an alias,
    and so on.

    Args:
        names: All names of one key.
        around: Keys of the words around the mention, and how far from it: see `words_around`.
    """
    kinds: dict[int, NameKind] = {}
    counts: dict[int, int] = {}
    titles: dict[int, str] = {}
    for name in names:
        kinds[name.article_id] = min(kinds.get(name.article_id, name.kind), name.kind)
        counts[name.article_id] = counts.get(name.article_id, 0) + name.count
        titles[name.article_id] = name.title
    suffixes = {article: split_title(title)[1] for article, title in titles.items()}
    pages = {article for article, suffix in suffixes.items() if suffix.casefold() == _DISAMBIGUATION_PAGE}
    if len(pages) < len(titles):
        for article in pages:
            del titles[article]
    weights = {article: counts[article] + _WORTH[kinds[article]] for article in titles}
    spoken = {article: _spoken_for(suffixes[article], titles[article], around) for article in titles}
    decided = {article for article in titles if spoken[article][0] == 2}
    shares = _shares(weights, decided)
    options = [
        Option(
            article,
            title,
            _rank(*spoken[article], weights[article]),
            shares[article],
            1.0 if spoken[article][0] else _trust(kinds[article], counts[article]),
        )
        for article, title in titles.items()
    ]
    return sorted(options, key=lambda option: (option.rank, option.title, option.article_id))


def words_around(words: Sequence[Word], first: int, last: int) -> dict[str, int]:
    """Return the keys of the words near a mention that may say what it is, and how many tokens from it they stand.

    Not those that say what the answer is ("Which band wrote it?"), nor the verb of a question ("What does Opus play?"), nor
    stop words.
    """
    begin, end = max(0, first - _NEAR), min(len(words), last + 1 + _NEAR)
    around: dict[str, int] = {}
    asked = auxiliary = False
    for at in range(begin, end):
        word = words[at]
        key = word.token.key
        if word.is_word and not first <= at <= last:
            if key in DETERMINERS_OF_QUESTIONS:
                asked = True
            elif word.stop:
                asked = asked and key in ("kind", "sort", "type", "of")  # "what kind of music" still asks
                auxiliary = auxiliary or key in AUXILIARIES
            elif not asked and not (auxiliary and at == last + 1):
                key = _singular(key)
                around[key] = min(around.get(key, _NEAR), first - at if at < first else at - last)
        elif not word.is_word:
            asked = False
            auxiliary = auxiliary and key not in ".!?"
    return around


def _trust(kind: NameKind, count: int) -> float:
    if kind < NameKind.ANCHOR:
        return 1.0
    by_links = count / (count + 1)
    return max(by_links, _TRUST_IN_BASE) if kind is NameKind.BASE else by_links


def _rank(spoken: int, distance: int, weight: float) -> tuple[float, ...]:
    return (-2, distance, -weight) if spoken == 2 else (0, -weight, -spoken)


def _spoken_for(suffix: str, title: str, around: Mapping[str, int]) -> tuple[int, int]:
    """Return whether the text says what tells a title from others of its name, and how far from the mention.

    2 if it says what it is, 1 if it says a part of that, 0 if nothing.
    """
    told = [_singular(word) for word in _WORD.findall(name_key(suffix))] if around else []
    found = [around[word] for word in told if word in around]
    if not found:
        return 0, 0
    # Of "English band" the last word says what it is; of "Clark County, Illinois" a part says nothing.
    says_it = len(found) == len(told) or (title.endswith(")") and told[-1] in around)
    return 1 + says_it, min(found)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _shares(weights: dict[int, float], decided: Set[int]) -> dict[int, float]:
    def of(articles: Iterable[int], share: float) -> dict[int, float]:
        articles = list(articles)
        total = sum(weights[article] for article in articles)
        return {article: share * weights[article] / total for article in articles}

    others = weights.keys() - decided
    if not decided or not others:
        return of(weights, 1.0)
    return of(decided, _SPOKEN_FOR) | of(others, 1 - _SPOKEN_FOR)
