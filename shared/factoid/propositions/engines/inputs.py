"""Passages as the tokens that a model reads, cut at sentence ends where they are too long for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from factoid.propositions.prompting.prompt import passage_input
from factoid.sentences import sentence_spans
from factoid.units import Unit


def model_inputs(passages: Sequence[Unit], tokenizer: Any, limit: int) -> list[list[list[int]]]:
    """Return for each passage the tokens of its input, or of several inputs if one would be longer than `limit`.

    Raises:
        InvalidInputError: A passage holds lone surrogates.
    """

    def tokens(texts: list[str]) -> list[list[int]]:
        return tokenizer(texts, verbose=False)["input_ids"]  # type: ignore[no-any-return]

    def fits(passage: Unit) -> bool:
        return len(tokens([passage_input(passage)])[0]) <= limit

    def slim(passage: Unit) -> Unit:
        """Leave out a section and a title that would take half of what the model reads."""
        for candidate in (passage, replace(passage, section="")):
            if len(tokens([passage_input(replace(candidate, text=""))])[0]) <= limit // 2:
                return candidate
        return replace(passage, section="", title="")

    found = []
    for passage, read in zip(passages, tokens([passage_input(passage) for passage in passages]), strict=True):
        if len(read) <= limit:
            found.append([read])
        else:
            found.append(tokens([passage_input(part) for part in _cut(slim(passage), fits)]))
    return found


def _cut(passage: Unit, fits: Callable[[Unit], bool]) -> Iterator[Unit]:
    """Halve a passage until its parts fit. Their text is the passage's; their spans are not adjusted."""
    if len(passage.text) < 2 or fits(passage):
        yield passage
        return
    middle = _middle(passage.text)
    for text in (passage.text[:middle], passage.text[middle:]):
        if text.strip():
            yield from _cut(replace(passage, text=text), fits)


def _middle(text: str) -> int:
    """Return where to halve a text: at the sentence that begins nearest to the middle, else at white space."""
    half = len(text) // 2
    starts = [start for start, _ in sentence_spans(text)[1:]]
    starts = starts or [at for at in (text.rfind(" ", 1, half), text.find(" ", half)) if at > 0]
    return min(starts, key=lambda start: abs(start - half), default=half)
