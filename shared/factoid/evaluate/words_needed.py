"""Count how many first words of a context answer a question, as the measure "within l words" does.

The answer is found as a run of tokens (`has_answer_dpr`); without short answers, the words have
nine tenths of the distinct words of a quote.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from factoid.evaluate.answers import dpr_tokens, has_answer_dpr
from factoid.words import count_words, cut_words

NEARLY_WHOLE = 0.9
"""The share of a quote's distinct words that a right context has: propositions are rewritten."""

_WORD = re.compile(r"\w+")


def words_needed(context: str, answers: Sequence[str], quotes: Sequence[str]) -> int | None:
    """Return the number of words up to the first answer; without answers, to the first quote.

    None if the context has none.
    """
    if answers:
        return _words_of_answer(context, answers)
    least: int | None = None
    for quote in quotes:
        words = words_of_quote(context, quote)
        if words is not None and (least is None or words < least):
            least = words
    return least


def _words_of_answer(context: str, answers: Sequence[str]) -> int | None:
    # No token goes over white space, so the tokens of a context are those of its words.
    words = context.split()
    tokens = list(map(_tokens_of_word, words))
    joined = "".join(tokens)
    ends = list(accumulate(map(len, tokens)))
    last = len(joined) + 1  # where the answer that ends first does
    for answer in answers:
        needle = f" {dpr_tokens(answer)}"
        at = f"{joined} ".find(f"{needle} ")
        if at >= 0 and needle.strip():
            last = min(last, at + len(needle))
    if last > len(joined):
        return None
    place = bisect_left(ends, last)
    most = count_words(" ".join(words[: place + 1]))
    least = max(count_words(" ".join(words[:place])), 1)
    if most - least <= 1:
        return most
    # Where a run of characters is many words, the answer may end before the run does.
    lengths = range(least, most)
    at = bisect_left(
        lengths, True, key=lambda count: has_answer_dpr(cut_words(context, count), answers)
    )
    return least + at


def words_of_quote(context: str, quote: str) -> int | None:
    """Return how many first words of a context have nine tenths of a quote's distinct words.

    None if the whole has not.
    """
    missing = set(_WORD.findall(quote.lower()))
    most = len(missing) - NEARLY_WHOLE * len(missing) + 1e-9  # that may be missing
    if not missing:
        return None
    for match in re.finditer(r"\S+", context):
        missing.difference_update(_WORD.findall(match[0].lower()))
        if len(missing) <= most:
            return count_words(context[: match.end()])
    return None


@lru_cache(maxsize=1 << 16)
def _tokens_of_word(word: str) -> str:
    """Return the tokens of a word, a space before each."""
    tokens = dpr_tokens(word)
    if not tokens:
        return ""
    return f" {tokens}"
