"""Entity linking by the names that an article store knows: no model, no download."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from factoid.encode import Encoder
from factoid.entities.articles.article import Name
from factoid.entities.articles.names import NameKind, clean_name, name_key
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.casing import Casing, Word, read_casing
from factoid.entities.linkers.context import break_ties, count_tied, text_around
from factoid.entities.linkers.cuts import shorter_cuts, tokens_within
from factoid.entities.linkers.disambiguation import Option, rank_options, words_around, written_as
from factoid.entities.linkers.parts import is_part
from factoid.entities.linkers.plurals import singulars
from factoid.entities.linkers.selection import select_longest
from factoid.entities.linkers.spans import LowerCase, Span, find_spans
from factoid.entities.linkers.spellings import hyphenations, is_respelled, respellings
from factoid.entities.linkers.stop_words import STOP_WORDS
from factoid.entities.linkers.tokens import Tokens, tokenize
from factoid.entities.mention import Candidate, Mention
from factoid.errors import InvalidInputError
from factoid.units import check_text

_MOST_WORDS = 12
_OWN = 10_000  # articles of a store in which a name is there because somebody put it there
_WRITTEN_OTHERWISE = 0.9  # factor of the score where the capitals or the spelling differ
_UNSURE = 0.5  # and of a part of a name, of a name known as an acronym only, and of a mention for want of a better


@dataclass(frozen=True, slots=True)
class _Found:
    """A span of a text, the names that are written so, and whether with other capitals than in the text."""

    span: Span
    names: list[Name]
    exact: bool


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that is being linked."""

    tokens: Tokens
    words: list[Word]
    casing: Casing
    spans: list[Span]
    free: bool  # whether names are found in any spelling


class TitleLinker:
    """Finds the names of a store's articles in a text: titles, redirects, aliases and texts of links.

    Of all stretches of at most `most_words` words that are a name, the longest of the text is taken, then the longest that
    does not overlap it, and so on. Names are found in any case and any Unicode form; names written as in the text go before
    those with other capitals, and a plural in lower case is also found by its singular. A name of letters and digits that is
    not known is looked for with a space, a hyphen or nothing between them: see `spellings`. What may be a name is told by
    capitals, where the text has them: see `find_spans`.

    Of several articles of one name, the one is chosen of which the text says what tells it from the others ("the planet
    Mercury"), else the one that most links with this text lead to, else the one whose title it is rather than a redirect's,
    an alias', a link's text or the title's without what stands in brackets: see `rank_options`. What is still tied is
    ordered by an encoder, where there is one, and decided where the text is by 0.08 nearer to one than the name alone is; else
    it is marked as ambiguous, with all candidates, the first by the encoder or by title.

    A mention's score is its candidate's share; less where the capitals differ, where the name is a title without what stands
    in its brackets, or where few links are all that tells what it means; and half where the name looks like a part of a
    longer one, or is a mention only because nothing else in the text is.

    Args:
        store: The articles. The linker does not close it.
        encoder: Breaks ties: it compares the text with title and first sentence of each candidate.
        stop_words: Words that name nothing by themselves, in any case; None for English function and question words.
        most_words: Words of the longest name.
        lower_case: Whether names without a capital are mentions. "always": single words but for function words, and longer
            names whatever they begin with; words of every question ("state") only where nothing else in the text is.
            Else longer names if they are written so, and single words "never", or "alone", only where nothing else in the
            text is a mention. "auto" is "always" in a store of at most 10,000 articles, such as a glossary; in others it is
            "alone" in texts that have no capital inside a sentence, and "never" in those that have. With "always" a hyphen
            and a space are the same, too.
        min_score: Mentions of less score are left out. More than 0.5 leaves out parts of names that the store does not know,
            at the price of some names.

    Raises:
        InvalidInputError: `store` is no article store, `encoder` no encoder, `most_words` is less than 1, `min_score` is not
            from 0 to 1, or `lower_case` is none of the four.
    """

    def __init__(
        self,
        store: ArticleStore,
        *,
        encoder: Encoder | None = None,
        stop_words: Iterable[str] | None = None,
        most_words: int = _MOST_WORDS,
        lower_case: str = "auto",
        min_score: float = 0.0,
    ) -> None:
        if not isinstance(store, ArticleStore):
            message = f"store must be an article store, got {store!r}: open a file of articles with ArticleStore(path)"
            raise InvalidInputError(message)
        if encoder is not None and not all(hasattr(encoder, name) for name in ("encode_queries", "encode_units")):
            message = (
                f"encoder must have encode_queries and encode_units, got {encoder!r}: give an encoder such as "
                "SentenceTransformerEncoder(model)"
            )
            raise InvalidInputError(message)
        if most_words < 1:
            message = f"most_words must be at least 1, got {most_words}"
            raise InvalidInputError(message)
        if not 0 <= min_score <= 1:
            message = f"min_score must be from 0 to 1, got {min_score}"
            raise InvalidInputError(message)
        if isinstance(stop_words, str):
            message = f"stop_words must be several words, got the string {stop_words!r}"
            raise InvalidInputError(message)
        self.store = store
        self.encoder = encoder
        self.stop_words: Collection[str] = (
            STOP_WORDS if stop_words is None else frozenset(name_key(word) for word in stop_words)
        )
        self.most_words = most_words
        self.min_score = min_score
        try:
            self.lower_case = LowerCase(lower_case)
        except ValueError as error:
            choices = ", ".join(repr(choice.value) for choice in LowerCase)
            message = f"lower_case must be one of {choices}, got {lower_case!r}"
            raise InvalidInputError(message) from error
        if self.lower_case is LowerCase.AUTO and len(store) <= _OWN:
            self.lower_case = LowerCase.ALWAYS

    def link(self, text: str) -> list[Mention]:
        """Return the mentions of a text, in its order and without overlap."""
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, with one look into the store for all of them."""
        read = [self._read(text) for text in texts]
        names = self._names(key for text in read for span in text.spans for key in _all_keys(text, span))
        chosen = []
        for text in read:
            found = {(span.first, span.last): self._match(text, span, names) for span in text.spans}
            matched = {where: match for where, match in found.items() if match is not None}
            kept = select_longest([match.span for match in matched.values()], text.tokens)
            chosen.append([matched[span.first, span.last] for span in kept])
        return self._mentions(read, chosen)

    def link_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> list[Mention]:
        """Return mentions for spans that something else has found, such as a model of named entities.

        What is named in a span is taken as it is, else without a leading article or a closing "'s"; spans that name nothing
        are left out.

        Args:
            text: A text.
            spans: Spans `[start, end)` in characters of it, without overlap.
        """
        check_text(text)
        tokens = tokenize(text)
        casing, words = read_casing(tokens, self.stop_words)
        wanted = [tokens_within(tokens, start, end) for start, end in spans]
        tried = [
            [Span(*cut, 1, False, False) for cut in shorter_cuts(tokens, found)] if found else [] for found in wanted
        ]
        free = self.lower_case is LowerCase.ALWAYS
        read = _Text(tokens, words, casing, [span for cuts in tried for span in cuts], free)
        names = self._names(key for span in read.spans for key in _all_keys(read, span))
        found = []
        for cuts in tried:
            matches = (self._match(read, span, names) for span in cuts)
            match = next((match for match in matches if match is not None), None)
            if match is not None:
                found.append(match)
        return self._mentions([read], [sorted(found, key=lambda match: match.span.first)])[0]

    def _read(self, text: str) -> _Text:
        check_text(text)
        tokens = tokenize(text)
        casing, words = read_casing(tokens, self.stop_words)
        spans = find_spans(tokens, words, casing, most_words=self.most_words, lower_case=self.lower_case)
        return _Text(tokens, words, casing, list(spans), self.lower_case is LowerCase.ALWAYS)

    def _names(self, keys: Iterable[str]) -> dict[str, list[Name]]:
        return self.store.names(list(dict.fromkeys(keys)))

    def _match(self, text: _Text, span: Span, names: dict[str, list[Name]]) -> _Found | None:
        form = _form(text, span)
        known = next((names[key] for key in _keys(text, span) if key in names), [])
        respelled = [] if known else [name for key in _respelled(text, span) for name in names.get(key, ())]
        known = known or respelled
        if not known:
            return None
        exact = written_as(known, form)
        if span.title:
            exact = [name for name in exact if name.kind is NameKind.TITLE]
            return _Found(span, exact, True) if exact else None
        written = exact or [name for own in singulars(form) for name in written_as(known, own)]
        written = written or [name for name in respelled if is_respelled(name.form, form)]
        if written and (span.exact or text.casing is not Casing.SILENT):
            return _Found(span, written, bool(exact))
        return None if span.exact else _Found(span, known, bool(exact))

    def _mentions(self, texts: Sequence[_Text], chosen: Sequence[list[_Found]]) -> list[list[Mention]]:
        """Return the mentions of what was found in each text, after all ties are broken at once."""
        ranked = [
            [rank_options(match.names, _around(text, match)) for match in found]
            for text, found in zip(texts, chosen, strict=True)
        ]
        ties = [
            (row, at, text_around(text.tokens.text, *_extent(text, found[at].span)), _form(text, found[at].span))
            for row, (text, found) in enumerate(zip(texts, chosen, strict=True))
            for at in range(len(found))
            if count_tied(ranked[row][at]) > 1
        ]
        ambiguous = {(row, at) for row, at, _, _ in ties}
        if self.encoder is not None and ties:
            broken = break_ties(
                self.encoder, self.store, [(around, form, ranked[row][at]) for row, at, around, form in ties]
            )
            for (row, at, _, _), (options, tied) in zip(ties, broken, strict=True):
                ranked[row][at] = options
                if not tied:
                    ambiguous.discard((row, at))
        mentions = []
        for row, (text, found) in enumerate(zip(texts, chosen, strict=True)):
            spans = [match.span for match in found]
            of_text = [
                _mention(text, match, spans, at, ranked[row][at], ambiguous=(row, at) in ambiguous)
                for at, match in enumerate(found)
            ]
            mentions.append([mention for mention in of_text if mention.score >= self.min_score])
        return mentions


def _mention(
    text: _Text, match: _Found, spans: Sequence[Span], at: int, options: Sequence[Option], *, ambiguous: bool
) -> Mention:
    """Return what was found at one of a text's spans as a mention."""
    factor = 1.0 if match.exact else _UNSURE if _is_other_acronym(text, match) else _WRITTEN_OTHERWISE
    factor *= options[0].trust
    if match.span.weak or is_part(text.words, text.casing, spans, at) or _is_plain_word(text, match):
        factor *= _UNSURE
    start, end = _extent(text, match.span)
    candidates = tuple(Candidate(option.title, option.share) for option in options)
    score = min(1.0, factor * options[0].share)
    return Mention(start, end, options[0].title, score, candidates, ambiguous)


def _is_other_acronym(text: _Text, match: _Found) -> bool:
    """Whether the text's "Eva" is known as "EVA" only."""
    forms = [name.form for name in match.names]
    return text.casing is Casing.TELLING and not _form(text, match.span).isupper() and all(map(str.isupper, forms))


def _is_plain_word(text: _Text, match: _Found) -> bool:
    """Whether a word such as "resume" in lower case is known as "Résumé" only."""
    plain = all(name.kind is NameKind.UNACCENTED for name in match.names)
    return plain and match.span.first == match.span.last and not text.words[match.span.first].capital


def _keys(text: _Text, span: Span) -> list[str]:
    """Return the key of a span, and those whose English plural it may be, or which have other hyphens."""
    key = text.tokens.key_of(span.first, span.last)
    if not text.free and text.words[span.last].capital and text.casing is Casing.TELLING:
        return [key]
    keys = [key, *singulars(key)]
    return keys + [other for own in keys for other in hyphenations(own)] if text.free else keys


def _respelled(text: _Text, span: Span) -> list[str]:
    return respellings(text.tokens.key_of(span.first, span.last), span.words)


def _all_keys(text: _Text, span: Span) -> list[str]:
    return [*_keys(text, span), *_respelled(text, span)]


def _around(text: _Text, match: _Found) -> dict[str, int]:
    if len({name.article_id for name in match.names}) == 1 and match.names[0].kind != NameKind.BASE:
        return {}  # nothing to choose
    return words_around(text.words, match.span.first, match.span.last)


def _extent(text: _Text, span: Span) -> tuple[int, int]:
    return text.tokens.tokens[span.first].start, text.tokens.tokens[span.last].end


def _form(text: _Text, span: Span) -> str:
    start, end = _extent(text, span)
    return clean_name(text.tokens.text[start:end])
