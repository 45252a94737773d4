"""Entities that are known beforehand: annotations of a data set, or results of a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from factoid.entities.articles.names import canonical_title, clean_name, name_key
from factoid.entities.mention import Mention

Annotation = str | Mention | Iterable[str | Mention] | None
"""One title or mention, several, or None for none."""


class AnnotatedLinker:
    """Returns the mentions that are already known for each question.

    A title without a span is looked up in the text, in any case and as whole words. Where the text
    does not have it ("Abraham Lincoln" in "Did Lincoln sign it?"), the mention spans the whole text
    and comes last; these mentions may overlap.

    Args:
        annotations: Maps a question to its titles or mentions, or a function of the question.
            Questions match in any case, whatever their white space, and with or without a question
            mark. An unknown question has no mention.
    """

    def __init__(self, annotations: Mapping[str, Annotation] | Callable[[str], Annotation]) -> None:
        self._annotate = annotations if callable(annotations) else _by_question(annotations)

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a question."""
        mentions = []
        for annotation in dict.fromkeys(_listed(self._annotate(text))):
            if text:
                mentions.append(_mention(text, annotation))
        return sorted(
            mentions, key=lambda mention: (mention.end - mention.start == len(text), mention.start)
        )


def _by_question(annotations: Mapping[str, Annotation]) -> Callable[[str], Annotation]:
    by_key: dict[str, list[str | Mention]] = {}
    for question, annotation in annotations.items():  # forms of one question have the titles of all
        by_key.setdefault(_question_key(question), []).extend(_listed(annotation))
    return lambda question: by_key.get(_question_key(question))


def _question_key(question: str) -> str:
    return name_key(question).rstrip("? ")


def _listed(annotation: Annotation) -> list[str | Mention]:
    if isinstance(annotation, str | Mention):
        return [annotation]
    return list(annotation or ())


def _mention(text: str, annotation: str | Mention) -> Mention:
    if isinstance(annotation, Mention):
        return annotation
    match = re.search(rf"(?<!\w){re.escape(clean_name(annotation))}(?!\w)", text, re.IGNORECASE)
    span = (0, len(text))
    if match:
        span = match.span()
    return Mention(*span, canonical_title(annotation))
