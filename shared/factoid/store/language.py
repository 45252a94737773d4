"""Notice in which language documents are, when they are added.

The index of words of an empty store then takes that language, and what was made for English is said
once. The language is known by the script of the letters, and among Latin, Cyrillic and Greek
letters by function words; texts that are too short or too mixed to tell have none.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.store.opened import OpenedStore
from factoid.text import abbreviations as known
from factoid.units import Unit
from factoid.vectors.terms import LANGUAGES

_SAMPLE = 2_000  # words
_LEAST = 40  # words below which nothing is said
_SHARE = 0.12  # of function words in running text
_DIFFERENT = 5  # function words: one alone may be a variable's name
_LEAD = 1.5  # times as many as of the next language: texts that mix languages are of none

_WORD = re.compile(r"[^\W\d_]+")


class _Named(NamedTuple):
    code: str
    name: str
    words: frozenset[str]


_BY_WORDS = (
    _Named("en", "English", known.ENGLISH.function_words),
    _Named("de", "German", known.GERMAN.function_words),
    _Named("fr", "French", known.FRENCH.function_words),
    _Named("es", "Spanish", known.SPANISH.function_words),
    _Named("it", "Italian", known.ITALIAN.function_words),
    _Named("pt", "Portuguese", known.PORTUGUESE.function_words),
    _Named("nl", "Dutch", known.DUTCH.function_words),
    _Named("pl", "Polish", known.POLISH.function_words),
    _Named("ru", "Russian", known.RUSSIAN.function_words),
    _Named("da", "Danish", known.DANISH.function_words),
    _Named("sv", "Swedish", known.SWEDISH.function_words),
    _Named("cs", "Czech", known.CZECH.function_words),
    _Named("tr", "Turkish", known.TURKISH.function_words),
    _Named("el", "Greek", known.GREEK.function_words),
)
_BY_SCRIPT = {
    "zh": ("Chinese", re.compile("[\u4e00-\u9fff]")),
    "ja": ("Japanese", re.compile("[\u3040-\u30ff]")),
    "ko": ("Korean", re.compile("[\uac00-\ud7af]")),
    "ar": ("Arabic", re.compile("[\u0600-\u06ff]")),
    "he": ("Hebrew", re.compile("[\u0590-\u05ff]")),
    "hi": ("Hindi", re.compile("[\u0900-\u097f]")),
    "th": ("Thai", re.compile("[\u0e00-\u0e7f]")),
    "ta": ("Tamil", re.compile("[\u0b80-\u0bff]")),
    "hy": ("Armenian", re.compile("[\u0530-\u058f]")),
}
NAMES = {language.code: language.name for language in _BY_WORDS}
NAMES |= {code: name for code, (name, _) in _BY_SCRIPT.items()}

# Names of encoders that were trained on English.
_ENGLISH_ENCODERS = re.compile(
    r"all-MiniLM|all-mpnet|all-distilroberta|multi-qa|msmarco|gtr-t5|[-_]en(?:\b|[-_.])|colbertv2",
    re.IGNORECASE,
)

logger = logging.getLogger(__name__)


def detect_language(texts: Iterable[str]) -> str:
    """Return the code of the language of some texts, such as "de"; "" if it cannot be told."""
    words: list[str] = []
    for text in texts:
        words += islice((match[0].lower() for match in _WORD.finditer(text)), _SAMPLE - len(words))
        if len(words) >= _SAMPLE:
            break
    letters = "".join(words)
    for code in ("ja", *_BY_SCRIPT):  # Japanese has Chinese characters as well
        _, script = _BY_SCRIPT[code]
        least = len(letters) / 2
        if code == "ja":
            least = len(letters) / 5
        if letters and len(letters) >= _LEAST and len(script.findall(letters)) > least:
            return code
    if len(words) < _LEAST:
        return ""
    counts = Counter(words)
    found: list[tuple[int, str]] = []
    for language in _BY_WORDS:
        common = counts.keys() & language.words
        if len(common) < _DIFFERENT:
            common = set()
        found.append((sum(counts[word] for word in common), language.code))
    (most, code), (next_most, _) = sorted(found, reverse=True)[:2]
    if most < _SHARE * len(words) or most < _LEAD * next_most:
        return ""
    return code


def set_language(
    store: OpenedStore, passages: Iterable[Unit], propositionizer: Propositionizer | None
) -> None:
    """Set the language of an empty store to that of passages, and warn of what is made for English.

    Each language counts once while a store is open, and none where it cannot be told.
    """
    code = detect_language(passage.search_text for passage in passages)
    if not code or code in store.noticed_languages:
        return
    store.noticed_languages.add(code)
    # That of the index of words: "" if it knows no stop words and no stems of this language.
    index_language = ""
    if code in LANGUAGES:
        index_language = code
    store.take_language(index_language)
    if code != "en":
        _warn_of_english_parts(store, code, propositionizer)


def _warn_of_english_parts(
    store: OpenedStore, code: str, propositionizer: Propositionizer | None
) -> None:
    """Warn if the propositionizer or the encoder was made for English, and the texts are not."""
    made_for_english = []
    cached = getattr(propositionizer, "propositionizer", propositionizer)
    if isinstance(cached, SyntaxPropositionizer):
        made_for_english.append(
            "SyntaxPropositionizer, which keeps sentences of other languages whole (a prompted "
            "model divides them, and sentences cost less)"
        )
    encoder = getattr(store.encoder, "name", None)
    if isinstance(encoder, str) and _ENGLISH_ENCODERS.search(encoder):
        made_for_english.append(
            f"the encoder {encoder} (multilingual ones are BAAI/bge-m3 and "
            "paraphrase-multilingual-MiniLM-L12-v2)"
        )
    if made_for_english:
        logger.warning(
            "these documents look %s, and this was made for English: %s",
            NAMES[code],
            "; ".join(made_for_english),
        )
