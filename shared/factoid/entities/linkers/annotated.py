"""Entities that a question comes with: a data set's annotations, a document's metadata, or what a function knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from factoid.entities.articles.names import canonical_title, clean_name, name_key
from factoid.entities.linkers.tokens import Tokens, tokenize
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.units import Document, check_text

Annotation = str | Mention | Iterable[str | Mention] | None
"""One title or mention, several, or None for none."""


class AnnotatedLinker:
    """Gives the mentions that are already known of each question.

    A title without a span is looked for in the text: as it is written, else in any case and Unicode form, at whole words
    only. Where the text does not hold it ("Abraham Lincoln" in "Did Lincoln sign it?"), the mention's span is all of the text.
    Titles found in it come first, in its order; then those that were not, as they were given. A title given twice is one
    mention. These mentions may overlap, other than those of other linkers.

    Args:
        annotations: From a question to its titles or mentions, or a function of the question. Questions are found whatever
            white space and Unicode form they are written in; else in any case, and with or without a question mark, as
            `normalize_question` writes them, and then with all that is known of such forms. A question that it does not
            know has no mention.
    """

    def __init__(self, annotations: Mapping[str, Annotation] | Callable[[str], Annotation]) -> None:
        if callable(annotations):
            self._find: Callable[[str], Annotation] = annotations
            return
        if not isinstance(annotations, Mapping):
            message = (
                f"annotations must map questions to titles, or be a function, got {type(annotations).__name__}. "
                "For records use AnnotatedLinker.from_records"
            )
            raise InvalidInputError(message)
        known = {clean_name(question): given for question, given in annotations.items()}
        folded: dict[str, list[str]] = {}
        for question in known:
            folded.setdefault(_fold(question), []).append(question)

        def find(question: str) -> Annotation:
            cleaned = clean_name(question)
            forms = [cleaned] if cleaned in known else folded.get(_fold(question), [])
            return [one for form in forms for one in _several(known[form], form)]

        self._find = find

    @classmethod
    def from_records(
        cls,
        records: Iterable[Mapping[str, Any] | Document],
        *,
        question: str = "question",
        titles: str = "title",
    ) -> AnnotatedLinker:
        """Return a linker of what a data set's records or documents' metadata say.

        Args:
            records: Mappings with the fields named below, or documents, whose text is the question and whose metadata has the
                field `titles`.
            question: Field of the question.
            titles: Field of its title, mention, or several of them. A record without it names nothing. Titles of records
                with the same question are joined.

        Raises:
            InvalidInputError: A record has no question, or none has the field of titles.
        """
        known: dict[str, list[str | Mention]] = {}
        seen: set[str] = set()
        for number, record in enumerate(records, start=1):
            fields = record.metadata if isinstance(record, Document) else record
            text = record.text if isinstance(record, Document) else record.get(question)
            if not isinstance(text, str):
                message = f"record {number} has no question in its field {question!r}: its fields are {sorted(fields)}"
                raise InvalidInputError(message)
            known.setdefault(clean_name(text), []).extend(_several(fields.get(titles), text))
            seen.update(fields)
        if known and titles not in seen:
            message = (
                f"no record has the field {titles!r}: their fields are {sorted(map(str, seen))}; give titles=FIELD"
            )
            raise InvalidInputError(message)
        return cls(known)

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a question; none if it is not known.

        Raises:
            InvalidInputError: What is known of it are neither titles nor mentions, or a mention ends after the text.
        """
        check_text(text)
        given = list(dict.fromkeys(_several(self._find(text), text)))
        if not given or not text:
            return []
        located: list[Mention] = []
        missing: list[Mention] = []
        tokens: Tokens | None = None
        for one in given:
            if isinstance(one, Mention):
                if one.end > len(text):
                    message = f"the mention [{one.start}, {one.end}) of {one.title!r} ends after the text {text!r}"
                    raise InvalidInputError(message)
                located.append(one)
                continue
            if not (title := canonical_title(one)):
                continue
            tokens = tokens or tokenize(text)
            span = _locate(tokens, one)
            (missing if span is None else located).append(Mention(*(span or (0, len(text))), title))
        return sorted(located, key=lambda mention: (mention.start, mention.end)) + missing

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each question."""
        return [self.link(text) for text in texts]


def _fold(question: str) -> str:
    """Return what the forms of one question have in common: its key without question marks at the end."""
    return name_key(question).rstrip("? ")


def _several(given: object, text: str) -> list[str | Mention]:
    if given is None:
        return []
    if isinstance(given, str | Mention):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping):
        several = list(given)
        if all(isinstance(one, str | Mention) for one in several):
            return several
    message = f"annotations of {text!r} must be titles or mentions, got {given!r}"
    raise InvalidInputError(message)


def _locate(tokens: Tokens, title: str) -> tuple[int, int] | None:
    """Return where a text has a title, as whole words: as written if so, else in any case; None where it has not."""
    starts = {token.start for token in tokens.tokens}
    ends = {token.end for token in tokens.tokens}
    at = tokens.text.find(title)
    while at >= 0 and title:
        if at in starts and at + len(title) in ends:
            return at, at + len(title)
        at = tokens.text.find(title, at + 1)
    key = name_key(title)
    firsts = {token.key_start: token for token in tokens.tokens}
    lasts = {token.key_end: token for token in tokens.tokens}
    at = tokens.key.find(key)
    while at >= 0:
        if at in firsts and at + len(key) in lasts:
            return firsts[at].start, lasts[at + len(key)].end
        at = tokens.key.find(key, at + 1)
    return None
