"""Entity linking by the names in an article store: no model, no download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from factoid.encode import Encoder
from factoid.entities.articles.article import Name
from factoid.entities.articles.names import NameKind, canonical_title, clean_name, name_key, squeezed_key
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.disambiguation import Option, break_ties, count_tied, rank_options, words_around
from factoid.entities.linkers.spans import LowerCase, Span, cut_spans, find_spans, is_part, select_longest
from factoid.entities.linkers.spellings import (
    Misspellings,
    is_plain,
    is_plural_of_code,
    is_respelled,
    respelled_keys,
    singulars,
)
from factoid.entities.linkers.stop_words import ARTICLES, FUNCTION_WORDS, PLAIN_WORDS, STOP_WORDS
from factoid.entities.linkers.tokens import Casing, Tokens, Word, read_casing, tokenize
from factoid.entities.mention import Candidate, Match, Mention
from factoid.errors import InvalidInputError
from factoid.units import check_text

_GLOSSARY = 10_000  # most articles of a store whose names somebody chose, so that they need no capitals
_WRITTEN_OTHERWISE = 0.9  # factor of the score where the capitals or the spelling differ
_OF_MATCH = {Match.PART: 0.55, Match.MISSPELLING: 0.45}  # factor for parts of names, and for misspelt names
_MOST_MEANT = 4  # articles that a part of a name may mean
_SHOWN = 300  # characters on each side of a mention in a long text that an encoder gets
_RUNNING_TEXT = 0.6  # least score of mentions in running text
_UNSURE = 0.5  # factor for plain words, parts of longer names, names known as an acronym only, and weak mentions


@dataclass(frozen=True, slots=True)
class _NamedSpan:
    """A span of a text, and the names that it matches."""

    span: Span
    names: list[Name]
    exact: bool  # the names have the same capitals
    match: Match = Match.NAME


class _SpanKeys(NamedTuple):
    written: list[str]  # the keys of a span as written, and of its singulars
    respelled: list[str]  # the keys of its other spellings


@dataclass(slots=True)
class _Text:
    """A text to link, with its possible names and their keys."""

    tokens: Tokens
    words: list[Word]
    casing: Casing
    keys: dict[Span, _SpanKeys] = field(default_factory=dict)

    def extent(self, span: Span) -> tuple[int, int]:
        return self.tokens.tokens[span.first].start, self.tokens.tokens[span.last].end

    def form(self, span: Span) -> str:
        start, end = self.extent(span)
        return clean_name(self.tokens.text[start:end])

    def around(self, span: Span) -> str:
        """Return the text for an encoder: all of a question, or the part of a long text near the mention."""
        start, end = self.extent(span)
        text = self.tokens.text
        return text if len(text) <= 2 * _SHOWN else text[max(0, start - _SHOWN) : end + _SHOWN]

    def options(self, match: _NamedSpan) -> list[Option]:
        """Return the articles that a span may mean, the most likely first."""
        single = len({name.article_id for name in match.names}) == 1 and match.names[0].kind < NameKind.BASE
        return rank_options(match.names, {} if single else words_around(self.words, match.span.first, match.span.last))

    def keys_of(self, span: Span, *, free: bool, plain: bool) -> _SpanKeys:
        """Return the keys of a span: `free` adds those with other spaces or hyphens, `plain` leaves out other spellings."""
        key = self.tokens.key_of(span.first, span.last)
        plurals = singulars(key) if key.endswith("s") else []
        if plurals and not free and self.casing is Casing.TELLING and self.words[span.last].capital:
            # "Ivans" is not the plural of "Ivan".
            plurals = [key[:-1]] if is_plural_of_code(self.form(span).rpartition(" ")[2]) else []
        return _SpanKeys([key, *plurals], [] if plain else respelled_keys(key, spaces=free))


class TitleLinker:
    """Finds the names of a store's articles in a text: titles, redirects, aliases and texts of links.

    Of all spans that are a name, the longest is taken, then the longest that does not overlap it, and so on. Names written as
    in the text go first, plurals in lower case and other spellings last. Capitals show what may be a name.

    A name of several articles means the one whose distinguishing words stand in the text ("the planet Mercury"), else the one
    that most links with this text lead to, else the one whose title it is, before redirects, aliases, texts of links, and
    titles without their brackets. An encoder orders articles that are still tied, and decides if the text favours one article
    by 0.08 more than the bare name does. All other ties are marked as ambiguous, with all candidates.

    A mention's score is the share of its candidate, less where the capitals differ, where the name is a title without its
    brackets, or where few links show what it means. It is halved where the mention looks like a part of a longer name, is a
    plain word in lower case ("free"), or counts only because nothing else does. Parts have at most 0.55, misspelt names 0.45.

    Args:
        store: The articles. The linker does not close it.
        encoder: Breaks ties by comparing the text with the title and first sentence of each candidate.
        stop_words: Words that are not names on their own, in any case; None for English function and question words.
        lower_case: Whether names without a capital are mentions. "always": longer names and single words, but not function
            words, and words of every question ("state") only where nothing else is a mention; a hyphen and a space are then
            the same. With the others, longer names count if an article is written so; single words count "never", or with
            "auto" only in texts without a capital inside a sentence, where nothing else is a mention. In a store of at most
            10,000 articles, such as a glossary, "auto" is "always".
        min_score: Leave out mentions below this score. More than 0.5 leaves out parts of names that the store does not know,
            at the price of some names. None is 0 in `link`, which is for questions, and 0.6 in `link_document`.
        misspellings: Take unknown words for the nearest name: see `Misspellings`. Needs factoid[fuzzy].

    Raises:
        MissingDependencyError: `misspellings` without rapidfuzz.
        InvalidInputError: An option is of another type or out of range.
    """

    def __init__(
        self,
        store: ArticleStore,
        *,
        encoder: Encoder | None = None,
        stop_words: Iterable[str] | None = None,
        lower_case: str = "auto",
        min_score: float | None = None,
        misspellings: bool = False,
    ) -> None:
        if not isinstance(store, ArticleStore):
            raise InvalidInputError(f"store must be an article store, got {store!r}: open one with ArticleStore(path)")
        if encoder is not None and not (hasattr(encoder, "encode_queries") and hasattr(encoder, "encode_units")):
            raise InvalidInputError(f"encoder must have encode_queries and encode_units, got {encoder!r}")
        if min_score is not None and not 0 <= min_score <= 1:
            raise InvalidInputError(f"min_score must be from 0 to 1, got {min_score}")
        if isinstance(stop_words, str):
            raise InvalidInputError(f"stop_words must be several words, got the string {stop_words!r}")
        self.store, self.encoder, self.min_score = store, encoder, min_score
        self.stop_words = STOP_WORDS if stop_words is None else frozenset(map(name_key, stop_words))
        self._lower_case = lower_case
        self.lower_case = _lower_case(lower_case, store)
        self._misspellings = Misspellings(store) if misspellings else None

    def over(self, store: ArticleStore) -> TitleLinker:
        """Return a linker of another store's articles, or of some of this one's, with the same options."""
        linker = copy(self)
        linker.store = store
        linker.lower_case = _lower_case(self._lower_case, store)
        linker._misspellings = None if self._misspellings is None else Misspellings(store)
        return linker

    def link(self, text: str) -> list[Mention]:
        """Return the mentions in a question, in order."""
        return self.link_batch([text])[0]

    def link_document(self, text: str) -> list[Mention]:
        """Return the mentions in running text: those of `link` with a score of at least 0.6, or `min_score`."""
        return self._link([text], _RUNNING_TEXT)[0]

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions in each question, with one look-up in the store for all of them."""
        return self._link(texts, 0.0)

    def link_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> list[Mention]:
        """Return mentions for spans `[start, end)` that do not overlap; a leading article or closing "'s" may be dropped."""
        check_text(text)
        tokens = tokenize(text)
        cuts = [cut_spans(tokens, start, end) for start, end in spans]
        read = self._read(tokens, [span for some in cuts for span in some])
        matches = _matches(read, self._names([read]))
        known = [[matches[span] for span in some if span in matches] for some in cuts]
        chosen = [min(some, key=lambda match: match.match is not Match.NAME) for some in known if some]
        return self._mentions([read], [sorted(chosen, key=lambda match: match.span.first)], 0.0)[0]

    def _link(self, texts: Sequence[str], least: float) -> list[list[Mention]]:
        for text in texts:
            check_text(text)
        read = [self._read(tokenize(text)) for text in texts]
        names = self._names(read)
        return self._mentions(read, [self._choose(text, names) for text in read], least)

    def _read(self, tokens: Tokens, spans: Iterable[Span] | None = None) -> _Text:
        """Return a text with its possible names: the given spans, or those that `find_spans` finds."""
        casing, words = read_casing(tokens, self.stop_words)
        if spans is None:
            spans = find_spans(tokens, words, casing, self.lower_case)
        text = _Text(tokens, words, casing)
        free = self.lower_case is LowerCase.ALWAYS
        plain = not free and is_plain(tokens.key)
        text.keys = {span: text.keys_of(span, free=free, plain=plain) for span in spans}
        return text

    def _names(self, texts: Sequence[_Text]) -> dict[str, list[Name]]:
        spans = (keys for text in texts for keys in text.keys.values())
        return self.store.names(list(dict.fromkeys(key for keys in spans for key in (*keys.written, *keys.respelled))))

    def _choose(self, text: _Text, names: dict[str, list[Name]]) -> list[_NamedSpan]:
        """Return the names in a text without overlap: whole names first, then parts, then misspelt names."""
        matches = list(_matches(text, names).values())
        chosen = _longest([match for match in matches if match.match is Match.NAME], text, set())
        spans = [match.span for match in chosen]
        parts = _longest([match for match in matches if match.match is Match.PART], text, _tokens_of(chosen))
        chosen += [match for match in parts if not is_part(text.words, text.casing, match.span, spans)]
        if self._misspellings is not None:
            taken, near = _tokens_of(chosen), []
            for span in text.keys:
                if not taken.isdisjoint(range(span.first, span.last + 1)) or span.exact or span.weak or span.title:
                    continue
                keys = self._misspellings.nearest(text.tokens.key_of(span.first, span.last))
                if near_names := [name for some in self.store.names(keys).values() for name in _whole(some)]:
                    near.append(_NamedSpan(span, near_names, False, Match.MISSPELLING))
            chosen += _longest(near, text, taken)
        return sorted(chosen, key=lambda match: match.span.first)

    def _mentions(
        self, texts: Sequence[_Text], chosen: Sequence[list[_NamedSpan]], least: float
    ) -> list[list[Mention]]:
        """Return the mentions of each text; the ties of all texts are broken at once."""
        least = least if self.min_score is None else self.min_score
        ranked: list[tuple[list[Option], bool]] = []  # of each mention, with whether the best ones are tied
        tied: dict[int, tuple[str, str, list[Option]]] = {}
        for text, some in zip(texts, chosen, strict=True):
            for match in some:
                options = text.options(match)
                if is_tied := count_tied(options) > 1:
                    tied[len(ranked)] = text.around(match.span), text.form(match.span), options
                ranked.append((options, is_tied))
        if self.encoder is not None and tied:
            for at, broken in zip(tied, break_ties(self.encoder, self.store, list(tied.values())), strict=True):
                ranked[at] = broken
        decided = iter(ranked)
        mentions = []
        for text, some in zip(texts, chosen, strict=True):
            spans = [match.span for match in some]
            of_text = [_mention(text, match, spans, *next(decided)) for match in some]
            mentions.append([mention for mention in of_text if mention.score >= least])
        return mentions


def _matches(text: _Text, names: dict[str, list[Name]]) -> dict[Span, _NamedSpan]:
    matches = {}
    for span, keys in text.keys.items():
        known = not names.keys().isdisjoint((*keys.written, *keys.respelled))
        if known and (match := _match(text, span, keys, names)) is not None:
            matches[span] = match
    return matches


def _match(text: _Text, span: Span, keys: _SpanKeys, names: dict[str, list[Name]]) -> _NamedSpan | None:
    """Return the names that a span matches; None if there are none, or it lacks the capitals that they need."""
    form = text.form(span)
    respelled: list[Name] = []
    candidates = next((whole for key in keys.written if (whole := _whole(names.get(key, ())))), [])
    if not candidates:
        candidates = respelled = _respelled(text, span, keys, names)
    if not candidates:
        parts = [] if span.title else _parts(text, span, form, names.get(keys.written[0], ()))
        return _NamedSpan(span, parts, False, Match.PART) if parts else None
    exact = _written_as(candidates, form)
    if span.title:
        exact = [name for name in exact if name.kind is NameKind.TITLE]
        return _NamedSpan(span, exact, True) if exact else None
    written = (
        exact
        or [name for singular in singulars(form) for name in _written_as(candidates, singular)]
        or [name for name in respelled if is_respelled(name.form, form)]
    )
    if written and (span.exact or text.casing is not Casing.SILENT):
        return _NamedSpan(span, written, bool(exact))
    return None if span.exact else _NamedSpan(span, candidates, bool(exact))


def _written_as(names: Sequence[Name], form: str) -> list[Name]:
    """Return the names that are written as in the text, except for the case of the first letter."""
    canonical = canonical_title(form)
    return [name for name in names if canonical_title(name.form) == canonical]


def _lower_case(choice: str, store: ArticleStore) -> LowerCase:
    if choice not in [case.value for case in LowerCase]:
        choices = ", ".join(repr(case.value) for case in LowerCase)
        raise InvalidInputError(f"lower_case must be one of {choices}, got {choice!r}")
    return LowerCase.ALWAYS if choice == LowerCase.AUTO.value and len(store) <= _GLOSSARY else LowerCase(choice)


def _mention(
    text: _Text, match: _NamedSpan, spans: Sequence[Span], options: Sequence[Option], ambiguous: bool
) -> Mention:
    """Return the mention at one of a text's spans."""
    form = text.form(match.span)
    shown = form[:-1] if is_plural_of_code(form.rpartition(" ")[2]) else form
    known_as_acronym = not shown.isupper() and all(name.form.isupper() for name in match.names)  # "Eva" as "EVA" only
    factor = _UNSURE if known_as_acronym and text.casing is Casing.TELLING else _WRITTEN_OTHERWISE
    factor = _OF_MATCH.get(match.match, 1.0 if match.exact else factor) * options[0].trust
    if match.span.weak or is_part(text.words, text.casing, match.span, spans) or _is_plain_word(text, match):
        factor *= _UNSURE
    candidates = tuple(Candidate(option.title, option.share) for option in options)
    score = min(1.0, factor * options[0].share)
    return Mention(*text.extent(match.span), options[0].title, score, candidates, ambiguous, match.match)


def _is_plain_word(text: _Text, match: _NamedSpan) -> bool:
    """Tell whether a span is a common word in lower case ("free"), or a name only without its accents ("resume")."""
    word = text.words[match.span.first]
    if match.span.first != match.span.last or (word.capital and text.casing is not Casing.SILENT):
        return False
    return word.token.key in PLAIN_WORDS or all(name.kind is NameKind.UNACCENTED for name in match.names)


def _longest(matches: Sequence[_NamedSpan], text: _Text, taken: set[int]) -> list[_NamedSpan]:
    """Return the matches of the longest spans that overlap neither each other nor the taken tokens."""
    spans = {match.span: match for match in matches}
    free = [span for span in spans if taken.isdisjoint(range(span.first, span.last + 1))]
    return [spans[span] for span in select_longest(free, text.tokens)]


def _tokens_of(matches: Sequence[_NamedSpan]) -> set[int]:
    return {token for match in matches for token in range(match.span.first, match.span.last + 1)}


def _whole(names: Sequence[Name]) -> list[Name]:
    """Return the whole names: no parts, none with marks or spaces left out."""
    return [name for name in names if name.kind < NameKind.PART and name.kind is not NameKind.SQUEEZED]


def _respelled(text: _Text, span: Span, keys: _SpanKeys, names: dict[str, list[Name]]) -> list[Name]:
    """Return the names of a span in other spellings; for one with a function word ("in form") only names with a mark there."""
    squeezed = [name for key in keys.written for name in names.get(key, ()) if name.kind is NameKind.SQUEEZED]
    joined = [name for key in keys.respelled for name in names.get(key, ()) if name.kind < NameKind.PART]
    words = {word.token.key for word in text.words[span.first : span.last + 1]}
    if joined and not words.isdisjoint(FUNCTION_WORDS | ARTICLES) and squeezed_key(keys.written[0]) is None:
        joined = [name for name in joined if name.kind in (NameKind.SQUEEZED, NameKind.UNACCENTED)]
    return squeezed + joined


def _parts(text: _Text, span: Span, form: str, names: Sequence[Name]) -> list[Name]:
    """Return the names of which a span is a part; none if they are too many, or it lacks the capitals that it needs."""
    named = text.casing is Casing.TELLING and not text.words[span.first].initial
    parts = [name for name in names if name.kind is NameKind.PART or (named and name.form == form)]
    return parts if len({name.article_id for name in parts}) <= _MOST_MEANT else []
