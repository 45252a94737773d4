"""Entities that are known beforehand: annotations of a data set, or results of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from factoid.entities.articles.names import canonical_title, name_key
from factoid.entities.linkers.tokens import Tokens, tokenize
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.units import check_text

Annotation = str | Mention | Iterable[str | Mention] | None
"""One title or mention, several, or None for none."""


class AnnotatedLinker:
    """Returns the mentions that are already known for each question.

    A title without a span is looked up in the text: as written, else in any case and Unicode form, and as whole words only.
    Where the text does not have it ("Abraham Lincoln" in "Did Lincoln sign it?"), the mention spans the whole text and comes
    last. These mentions may overlap, unlike those of other linkers.

    Args:
        annotations: Maps a question to its titles or mentions, or a function of the question. Questions match in any case,
            whatever their white space and Unicode form, and with or without a question mark; several such forms of one have
            the titles of all. An unknown question has no mention.
    """

    def __init__(self, annotations: Mapping[str, Annotation] | Callable[[str], Annotation]) -> None:
        if not isinstance(annotations, Mapping) and not callable(annotations):
            kind = type(annotations).__name__
            raise InvalidInputError(f"annotations must map questions to titles, or be a function, got {kind}")
        self._annotate = annotations if callable(annotations) else _by_question(annotations)

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a question; none if it is not known. A mention that ends after the text is refused."""
        check_text(text)
        located: list[Mention] = []
        missing: list[Mention] = []
        tokens = tokenize(text)
        for annotation in dict.fromkeys(_as_list(self._annotate(text), text)) if text else ():
            if isinstance(annotation, Mention):
                if annotation.end > len(text):
                    raise InvalidInputError(f"{annotation!r} ends after the text {text!r}")
                located.append(annotation)
            elif title := canonical_title(annotation):
                span = _locate(tokens, annotation)
                (missing if span is None else located).append(Mention(*(span or (0, len(text))), title))
        return sorted(located, key=lambda mention: (mention.start, mention.end)) + missing


def _by_question(annotations: Mapping[str, Annotation]) -> Callable[[str], Annotation]:
    by_key: dict[str, list[str | Mention]] = {}
    for question, annotation in annotations.items():
        by_key.setdefault(_question_key(question), []).extend(_as_list(annotation, question))
    return lambda question: by_key.get(_question_key(question))


def _question_key(question: str) -> str:
    return name_key(question).rstrip("? ")


def _as_list(annotation: Any, text: str) -> list[str | Mention]:
    if annotation is None:
        return []
    several = isinstance(annotation, Iterable) and not isinstance(annotation, str | Mapping)
    annotations: list[Any] = list(annotation) if several else [annotation]
    if not all(isinstance(value, str | Mention) for value in annotations):
        raise InvalidInputError(f"annotations of {text!r} must be titles or mentions, got {annotation!r}")
    return annotations


def _locate(tokens: Tokens, title: str) -> tuple[int, int] | None:
    """Return where a text has a title, in whole words: as written if possible, else in any case; None if it has not."""
    key, count = name_key(title), len(tokenize(title).tokens)
    firsts = range(len(tokens.tokens) - count + 1) if count else ()
    spans = [
        (tokens.tokens[first].start, tokens.tokens[first + count - 1].end)
        for first in firsts
        if tokens.key_of(first, first + count - 1) == key
    ]
    return next((span for span in spans if tokens.text[slice(*span)] == title), spans[0] if spans else None)
