"""Entity linking by the names in an article store: no model, no download."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain, filterfalse

import numpy as np

from factoid._optional import require
from factoid.encode import Encoder
from factoid.entities.articles.article import Name
from factoid.entities.articles.names import (
    NameKind,
    canonical_title,
    is_company,
    name_key,
    split_title,
    squeeze,
    squeezed_key,
    without_accents,
)
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.spans import Span, Words, longest, singular
from factoid.entities.linkers.word_classes import (
    Use,
    asks,
    bears_a_name,
    describes,
    is_common_word,
    is_defined_as_a_name,
    is_thing,
    use_of,
    use_of_name,
    use_of_short_name,
    use_of_word_like_acronym,
)
from factoid.entities.mention import Candidate, Match, Mention
from factoid.inner_products import products
from factoid.units import check_text

# most articles of a store whose names somebody chose, so that they need no capitals
_GLOSSARY = 10_000
_MOST_MEANT = 4  # articles that a part of a name may mean
# factors of the score: for other capitals or spellings; for doubtful mentions
_OTHERWISE = 0.9
_DOUBT = 0.5
_OF_MATCH = {Match.NAME: 1.0, Match.PART: 0.55, Match.MISSPELLING: 0.45}
# Links that a name of each kind is worth.
_WORTH = dict(zip(NameKind, (8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5), strict=True))
_NEAR = 60  # words on each side of a mention that may distinguish its article
_SAID = 1e6  # factor of the worth for such words right beside it
_MARGIN = 0.08  # in cosines: how much more the text must favour an article than the bare name does
_AROUND = 300  # characters on each side of a mention that an encoder gets
_FIRST = 400  # characters of an article that an encoder gets, and that may define it
# that may be misspelt
_KINDS = (NameKind.TITLE, NameKind.REDIRECT, NameKind.ALIAS, NameKind.UNACCENTED, NameKind.BASE)
# characters of a name in which one, and two, may be wrong
_SHORTEST = 5
_LONG = 9
_NO_DIGIT = re.compile(r"\D+")


class TitleLinker:
    """Finds the names of a store's articles in a text.

    Titles, redirects, aliases and texts of links. Of all spans that are a name, the longest is
    taken, then the longest that does not overlap it, and so on. A name of several articles means
    the one whose distinguishing words stand nearest in the text ("the planet Mercury"), else the
    one that most links lead to, else the one whose title it is. An encoder orders articles that are
    still tied; those that it does not clearly prefer are marked as ambiguous.

    A mention's score is the share of its candidate, less where the capitals or the spelling differ.
    Parts of names have at most 0.55, misspelt names 0.45. A verb in lower case ("it aims to grow")
    is no name of the same spelling ("AIMS"), nor is a common noun the short form of a title
    ("I eat an apple", "Apple Inc."; "we walk in nature", "Nature (journal)"): these are names in
    lower case in questions, commands and queries ("what is python"), not in statements. So are
    acronyms that spell a common word ("my cat is old", "CAT"), and a title whose article begins as
    that of a proper name ("Red Hat is a company") is none behind "a" ("a red hat"). A question in
    capitals alone is read as if in lower case. Half of the score counts where a capitalized word
    stands beside the mention, which may then be a part of a longer name, where the mention is one
    only because nothing else is, and where a word is rather a common noun: in lower case ("the
    nature of light"), or a short form as the first word of a statement ("Nature is beautiful").

    Args:
        store: The articles. The linker does not close it.
        encoder: Breaks ties by comparing the text with the title and the beginning of each
            candidate.
        lower_case: Whether names need no capital; None for stores of at most 10,000 articles, such
            as a glossary. In others, single words without a capital are mentions only in texts
            without any, where nothing else is.
        min_score: Leave out mentions below this score: 0.6 in running text, where doubtful mentions
            are mostly wrong.
        misspellings: Take unknown words for the nearest name, as `Misspellings` does.

    Raises:
        MissingDependencyError: `misspellings` without rapidfuzz.
    """

    def __init__(
        self,
        store: ArticleStore,
        *,
        encoder: Encoder | None = None,
        lower_case: bool | None = None,
        min_score: float = 0.0,
        misspellings: bool = False,
    ) -> None:
        self.store = store
        self.encoder = encoder
        self.min_score = min_score
        self.lower_case = len(store) <= _GLOSSARY if lower_case is None else lower_case
        self._misspellings = Misspellings(store) if misspellings else None

    def over(self, store: ArticleStore) -> TitleLinker:
        """Return a linker of some of the store's articles, with the same options.

        Such are one tenant's.
        """
        linker = copy(self)
        linker.store = store
        linker._misspellings = self._misspellings and Misspellings(store)
        return linker

    def link(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in order."""
        check_text(text)
        words = Words(text)
        spans = list(words.spans(lower_case=self.lower_case))
        keys = [self._keys(span, words.telling) for span in spans]
        names = self.store.names(list(dict.fromkeys(chain.from_iterable(keys))))
        unknown = []
        for span, keys_of_span in zip(spans, keys, strict=True):
            if not _match(span, keys_of_span, names, words.telling):
                unknown.append(span)
        known = [span for span in spans if span.names and self._may_be_a_name(words, span)]
        whole = [span for span in known if span.match is Match.NAME]
        chosen = longest([span for span in whole if not span.weak] or whole)
        used = _places(chosen)
        parts = longest([span for span in known if span.match is Match.PART], used)
        chosen += [span for span in parts if not words.is_beside_a_name(span, used)]
        if self._misspellings is not None:
            used = _places(chosen)
            free = [span for span in unknown if used.isdisjoint(span.places)]
            chosen += longest(self._misspelt(self._misspellings, free))
        used = _places(chosen)
        mentions = []
        for span in sorted(chosen, key=lambda span: span.first):
            span.weak |= span.is_common or words.is_beside_a_name(span, used)
            mentions.append(self._mention(words, span))
        confident = []
        for mention in mentions:
            if mention.score >= self.min_score:
                confident.append(mention)
        return confident

    def _may_be_a_name(self, words: Words, span: Span) -> bool:
        """Return whether words in lower case may be a name that is written in capitals.

        Note if they hardly are.
        """
        start, end = words.extent(span)
        form = words.uncased[start:end]
        if words.text.strip(" ?!.") == words.text[start:end]:
            return True
        if not form.isalpha():
            return self._may_be_a_name_in_full(words, span)
        forms = {name.form for name in span.names}
        if form not in forms and is_common_word(form) and _are_acronyms(forms):
            return self._may_be_a_word_like_acronym(words, span)
        is_short = all(bears_a_name(name.title) for name in span.names)
        if is_short and (form.islower() or words.words[span.first].initial):
            span.is_written = False  # its capital says nothing
            if not forms.isdisjoint(singulars(form.capitalize())):
                return False  # "Apples are red"
            if not form.islower():
                span.is_common = self._is_doubtful_first_word(words, span)
        if not form.islower() or form in forms:
            return True
        if is_short:
            return self._may_be_a_short_name(words, span)
        if span.match is not Match.NAME:
            return True
        return self._may_be_a_plain_name(words, span, is_acronym=_are_acronyms(forms))

    def _may_be_a_word_like_acronym(self, words: Words, span: Span) -> bool:
        """Return whether a common word may be an acronym: "aids" in "what is aids"."""
        span.is_written = False
        use = use_of_word_like_acronym(words.uncased, *words.extent(span))
        span.is_common = use is Use.NOUN
        return use in (Use.OPEN, Use.NOUN)

    def _may_be_a_plain_name(self, words: Words, span: Span, *, is_acronym: bool) -> bool:
        """Return whether a word in lower case may be an acronym, or a title of one word."""
        start, end = words.extent(span)
        use = use_of(words.uncased, start, end, is_acronym=is_acronym)
        span.is_common = use is Use.NOUN
        if use is Use.VERB:
            return False
        if is_acronym:
            span.is_written = False
            return not (use is Use.NOUN and words.uncased[start:end].endswith("s"))
        if use is not Use.QUALITY:
            return self._may_be_a_name_in_full(words, span)
        are_things = all(is_thing(name.title) for name in span.names)
        return not (are_things or self._are_defined_as_names(span))

    def _may_be_a_name_in_full(self, words: Words, span: Span) -> bool:
        """Return whether words in lower case may be "Red Hat", say: not in "a red hat".

        Only where the title or the beginning of the article shows that it is a proper name: the
        titles of a glossary often have capitals as well ("a duty cycle").
        """
        start, end = words.extent(span)
        form = words.uncased[start:end]
        is_written = any(name.form == form for name in span.names)
        if is_written or not form.islower() or span.match is not Match.NAME:
            return True
        if not self._are_defined_as_names(span):
            return True
        keys = singulars(name_key(form))
        if any(name_key(name.form) in keys for name in span.names):
            return False  # "turkeys"
        use = use_of_name(words.uncased, start, end)
        span.is_common |= use is Use.NOUN
        return use is not Use.THING

    def _are_defined_as_names(self, span: Span) -> bool:
        """Return whether titles or beginnings of articles show that all names are proper names."""
        for name in span.names:
            if bears_a_name(name.title):
                continue
            article = self.store.find(name.article_id)
            beginning = ""
            if article is not None:
                beginning = article.text[:_FIRST]
            if not is_defined_as_a_name(name.form, beginning):
                return False
        return True

    def _may_be_a_short_name(self, words: Words, span: Span) -> bool:
        """Return whether a word in lower case may be "Nature (journal)", say.

        The distinguishing words of a title decide for it where the text has one.
        """
        if _is_distinguished(words, span):
            return True
        use = use_of_short_name(words.uncased, *words.extent(span))
        span.is_common = use is Use.NOUN
        return use in (Use.OPEN, Use.NOUN)

    def _is_doubtful_first_word(self, words: Words, span: Span) -> bool:
        """Return whether the first word of a statement may be a common noun: "Nature is beautiful".

        A capital inside a sentence elsewhere in the text shows that it is a name, and so do the
        distinguishing words of a title ("Nature is a journal"). Few names of companies are common
        nouns: they are doubted before a noun or an article only ("Apple trees bloom").
        """
        start, end = words.extent(span)
        if asks(words.text, start, end) or _is_distinguished(words, span):
            return False
        is_of_companies = all(is_company(name.title) for name in span.names)
        if is_of_companies and not describes(words.text, start, end):
            return False
        first = words.words[span.first]
        return not any(
            word.capital and not word.initial and word.key == first.key for word in words.words
        )

    def _keys(self, span: Span, telling: bool) -> list[str]:
        """Return the keys of a span, of its singulars, and of other spellings.

        "t40" for "T-40" or "T 40".
        """
        key = name_key(span.form)
        if "'" in key:
            return [key]
        # not "Ivans"
        plural = self.lower_case or not (telling and span.form.rpartition(" ")[2][:1].isupper())
        others = (without_accents(key), squeezed_key(span.form, spaces=self.lower_case))
        keys = [key]
        if plural:
            keys += singulars(key)
        keys += filter(None, others)
        return keys

    def _misspelt(self, misspellings: Misspellings, spans: Iterable[Span]) -> Iterator[Span]:
        """Yield the spans that are nearly a name."""
        for span in spans:
            if not (span.exact or span.weak) and span.form[0].isalnum() and span.form[-1].isalnum():
                names = self.store.names(misspellings.nearest(name_key(span.form)))
                span.names = [
                    name for name in chain.from_iterable(names.values()) if name.kind in _KINDS
                ]
                span.match = Match.MISSPELLING
                if span.names:
                    yield span

    def _mention(self, words: Words, span: Span) -> Mention:
        """Return the mention of a span, with the articles that its names may mean, best first."""
        start, end = words.extent(span)
        names = list(filterfalse(_is_disambiguation, span.names)) or list(span.names)
        titles = {name.article_id: name.title for name in names}
        worth = _worth(names, words.around(span, _NEAR))
        ranked = sorted(worth, key=lambda article: (-worth[article], titles[article]))
        tied = [article for article in ranked if worth[article] == worth[ranked[0]]]
        ambiguous = len(tied) > 1
        if ambiguous and self.encoder is not None:
            context = words.text[max(0, start - _AROUND) : end + _AROUND]
            best, ambiguous = self._nearest(self.encoder, context, span.form, tied)
            ranked.insert(0, ranked.pop(ranked.index(best)))
            if not ambiguous:
                worth[best] *= _SAID
        total = sum(worth.values())
        candidates = tuple(Candidate(titles[article], worth[article] / total) for article in ranked)
        score = candidates[0].score * _OF_MATCH[span.match]
        if span.weak:
            score *= _DOUBT
        if span.match is Match.NAME and not span.is_written:
            score *= _OTHERWISE
        return Mention(start, end, candidates[0].title, score, candidates, ambiguous, span.match)

    def _nearest(
        self, encoder: Encoder, text: str, name: str, articles: Sequence[int]
    ) -> tuple[int, bool]:
        """Return the article most similar to a text, and whether that is doubtful."""
        contents = list(map(self.store.find, articles))
        beginnings = []
        for article in contents:
            beginning = ""
            if article:
                beginning = f"{article.title}. {article.text[:_FIRST]}"
            beginnings.append(beginning)
        units = encoder.encode_units(beginnings)
        to_text, to_name = products(
            np.asarray(encoder.encode_queries([text, name])), np.asarray(units).T
        )
        gains = to_text - to_name
        best = int(to_text.argmax())
        return articles[best], bool(gains[best] - np.delete(gains, best).max() < _MARGIN)


class Misspellings:
    """Finds the names of a store that are nearest to a misspelt one.

    An extra, missing, different or transposed letter is one mistake: names of at least five
    characters may have one, of at least nine two. Digits may have none: "Tern 60" is not "Tern 40".
    All names are read on first use and stay in memory, about 100 bytes each; each look-up compares
    with all of them (some milliseconds for 100,000 names).
    """

    def __init__(self, store: ArticleStore) -> None:
        self._store = store
        self._extract = require("rapidfuzz.process", extra="fuzzy").extract
        self._distance = require("rapidfuzz.distance", extra="fuzzy").OSA.distance
        self._read: tuple[int, list[str]] = (-1, [])  # the store's version, and its keys

    def nearest(self, key: str) -> list[str]:
        """Return the keys of the names nearest to a misspelt key.

        None if all have too many mistakes.
        """
        if len(key) < _SHORTEST:
            return []
        if self._read[0] != (version := self._store.version):
            self._read = (
                version,
                [known for known in self._store.keys(_KINDS) if len(known) >= _SHORTEST],
            )
        limit = 1 if len(key) < _LONG else 2
        similar = self._extract(
            key, self._read[1], scorer=self._distance, score_cutoff=limit, limit=None
        )
        digits = _NO_DIGIT.sub("", key)
        near = []
        for known, distance, _ in similar:
            if _NO_DIGIT.sub("", known) == digits:
                near.append((distance, known))
        return [known for distance, known in near if distance == near[0][0]]


def singulars(key: str) -> list[str]:
    """Return the keys whose English plural a key may be, by its last letters.

    Codes ("t40s") count, decades do not.
    """
    last = key.rpartition(" ")[2]
    if not last.endswith("s") or last.endswith(("ss", "us", "is")):
        return []
    if (last.isalpha() and len(last) < 4) or last.strip("0123456789") == "s":
        return []  # "gas", "1990s"
    if last.endswith("ies"):
        return [key[:-1], key[:-3] + "y"]
    if last.endswith(("sses", "shes", "ches", "xes", "zes")):
        return [key[:-1], key[:-2]]
    return [key[:-1]]


def _match(span: Span, keys: Sequence[str], names: Mapping[str, list[Name]], telling: bool) -> bool:
    """Give a span the names that it may mean, out of those of some keys.

    Return whether there are any.
    """
    if names.keys().isdisjoint(keys):  # as for most spans
        return False
    whole: list[Name] = []
    for key in keys:
        # Beside a function word only names with a mark are joined: "on call" is "on-call", but "a
        # 4" is not the "A4".
        joined = span.function and "&" not in key and key.count(" ") < keys[0].count(" ")
        if whole:
            break
        for name in names.get(key, ()):
            if joined:
                is_whole = name.kind is NameKind.SQUEEZED
            else:
                is_whole = name.kind < NameKind.PART
            if is_whole:
                whole.append(name)
    if not whole:
        named = telling and span.inner
        parts = []
        for name in names.get(keys[0], ()):
            if name.kind is NameKind.PART or (named and name.form == span.form):
                parts.append(name)
        if len({name.article_id for name in parts}) > _MOST_MEANT:
            parts = []
        span.names = parts
        span.match = Match.PART
        return bool(span.names)
    forms = list(map(canonical_title, (span.form, *singulars(span.form))))
    written = [name for name in whole if canonical_title(name.form) in forms]
    alike = written or [name for name in whole if _plain(name.form) in map(_plain, forms)]
    if span.exact or (telling and alike):
        whole = alike
    span.names = whole
    span.is_written = any(canonical_title(name.form) == forms[0] for name in written)
    return bool(span.names)


def _is_distinguished(words: Words, span: Span) -> bool:
    """Return whether a text has one of the words in a title's brackets: "the journal Nature"."""
    around = words.around(span, _NEAR)
    for name in span.names:
        suffix = split_title(name.title)[1]
        if any(singular(word) in around for word in name_key(suffix).split()):
            return True
    return False


def _are_acronyms(forms: Iterable[str]) -> bool:
    return all(sum(map(str.isupper, form)) > 1 for form in forms)


def _is_disambiguation(name: Name) -> bool:
    return name.title.endswith("(disambiguation)")


def _places(spans: Iterable[Span]) -> set[int]:
    places: set[int] = set()
    for span in spans:
        places.update(span.places)
    return places


def _plain(form: str) -> str:
    """Return a form without accents and without marks inside, but with its capitals."""
    return squeeze(canonical_title(without_accents(form) or form))


def _worth(names: Sequence[Name], around: Mapping[str, int]) -> dict[int, float]:
    """Return what each article of some names is worth in links.

    Words of its title's suffix in the text count most.
    """
    by_article: dict[int, list[Name]] = {}
    for name in names:
        by_article.setdefault(name.article_id, []).append(name)
    worth = {}
    for article, some in by_article.items():
        suffix = re.findall(r"\w+", name_key(split_title(some[0].title)[1]))
        near = []
        for word in map(singular, suffix):
            if word in around:
                near.append(around[word])
        links = sum(name.count for name in some) + max(_WORTH[name.kind] for name in some)
        if near:
            links *= _SAID * len(near) / len(suffix) / min(near)
        worth[article] = links
    return worth
