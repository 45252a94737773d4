"""What a subword, and then a word, stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable entities of one subword.

    Attributes:
        ids: Best first, at least one.
        probabilities: Theirs, as a softmax over the whole vocabulary gives them.
    """

    ids: tuple[int, ...]
    probabilities: tuple[float, ...]

    @property
    def best(self) -> int:
        """The most probable entity."""
        return self.ids[0]

    def probability(self, entity: int) -> float:
        """Return the probability of an entity; 0.0 if it is not among the most probable."""
        return next((value for other, value in zip(self.ids, self.probabilities, strict=True) if other == entity), 0.0)


@dataclass(frozen=True, slots=True)
class Word:
    """What a word stands for.

    Attributes:
        start, end: Span from its first to its last subword, in characters.
        entity: The id it was resolved to.
        score: The mean probability of that id over the subwords; where one does not list it, 0.0 counts.
        candidates: Ids that all subwords list, with their mean probability, best first.
        subwords: Their predictions.
    """

    start: int
    end: int
    entity: int
    score: float
    candidates: dict[int, float]
    subwords: tuple[Prediction, ...]


def resolve_word(subwords: Sequence[Prediction], start: int, end: int) -> Word:
    """Return what a word of at least one subword stands for.

    That is the best entity of its subwords if they agree, which then has the highest mean; else, of those that all subwords
    list, the one with the highest mean probability; else the best entity of most subwords, of the first of them in a tie.
    """
    shared = set(subwords[0].ids).intersection(*(subword.ids for subword in subwords[1:]))
    means = [(entity, mean_probability(subwords, entity)) for entity in subwords[0].ids if entity in shared]
    candidates = dict(sorted(means, key=lambda pair: -pair[1]))
    votes = Counter(subword.best for subword in subwords)  # in order of the text, which is how ties are broken
    entity = next(iter(candidates)) if candidates else votes.most_common(1)[0][0]
    return Word(start, end, entity, mean_probability(subwords, entity), candidates, tuple(subwords))


def mean_probability(subwords: Sequence[Prediction], entity: int) -> float:
    """Return the mean of an entity's probabilities, 0.0 where it is not listed."""
    return sum(subword.probability(entity) for subword in subwords) / len(subwords)


def mean_of_words(words: Sequence[Word], entity: int) -> float:
    """Return the mean of the words' mean probabilities of an entity."""
    return sum(mean_probability(word.subwords, entity) for word in words) / len(words)
