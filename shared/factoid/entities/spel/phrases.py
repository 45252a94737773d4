"""Words that stand side by side for one entity, as one phrase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from factoid.entities.spel.resolve import Prediction, Word, mean_of_words, resolve_word
from factoid.entities.spel.words import Span, group_subwords


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row that were resolved to one id, which may be "no entity".

    Attributes:
        start, end: Span from the first subword to the last, in characters, without white space around it.
        entity: The id.
        score: The mean of the words' scores for it.
        words: At least one.
    """

    start: int
    end: int
    entity: int
    score: float
    words: tuple[Word, ...]

    def candidates(self) -> list[tuple[int, float]]:
        """Return the ids that every word lists, with the mean of the words' means, best first."""
        first, *others = (word.candidates for word in self.words)
        shared = [entity for entity in first if all(entity in other for other in others)]
        means = [(entity, sum(word.candidates[entity] for word in self.words) / len(self.words)) for entity in shared]
        return sorted(means, key=lambda pair: -pair[1])


def find_phrases(
    text: str, words: Sequence[Span], offsets: Sequence[Span], predictions: Sequence[Prediction]
) -> list[Phrase]:
    """Return the phrases of a text, those of no entity included.

    Neighbouring mentions of one entity become one phrase, as nothing marks where a mention begins.

    Args:
        text: The text.
        words: Spans of its words.
        offsets: Spans of its subwords, without special tokens. Shape: (subwords,).
        predictions: Theirs. Shape: (subwords,).
    """
    resolved = []
    for group in group_subwords(words, offsets):
        if group:  # a word that its neighbour's subword covers has nothing to say
            subwords = [predictions[at] for at in group]
            resolved.append(resolve_word(subwords, offsets[group[0]][0], offsets[group[-1]][1]))
    return join_words(text, resolved)


def join_words(text: str, words: Iterable[Word]) -> list[Phrase]:
    """Join words in a row that have the same id."""
    phrases = []
    for entity, group in groupby(words, key=lambda word: word.entity):
        members = tuple(group)
        start, end = members[0].start, members[-1].end
        while start < end and text[start].isspace():  # a line end is a subword of the word after it
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        phrases.append(Phrase(start, end, entity, mean_of_words(members, entity), members))
    return phrases
