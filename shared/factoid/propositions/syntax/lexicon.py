"""English words: the lists of `lexicon.txt` by name, and the forms used to write statements."""

from __future__ import annotations

import re
from importlib.resources import files

LEXICON = {
    name: frozenset(words.split())
    for name, words in re.findall(
        r"^([a-z ]+):\n(.+?)(?:\n\n|\Z)",
        files("factoid.propositions.syntax").joinpath("lexicon.txt").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}

# "win" and "quit", not "hear": the last consonant is written twice before -ing.
_DOUBLED = re.compile(r"(?:[^aeiou]|qu)[aeiou][bdgmnpt]$")
# Spelled with a vowel that is not the first sound, and the other way round.
_CONSONANT = re.compile(r"(?:eu|ewe|one\b|once|uni(?!n|m|d)|us(?:[aeiu]|\b)|u[bt]i|uk|utah|u\b)", re.IGNORECASE)
_SILENT = re.compile(r"(?:hou?rs?\b|hono|honest|heir)", re.IGNORECASE)


def _participle(base: str) -> str:
    if _DOUBLED.search(base):
        base += base[-1]
    elif base.endswith("ie"):
        base = f"{base[:-2]}y"
    elif base.endswith("e") and not base.endswith(("ee", "oe")) and base != "be":
        base = base[:-1]
    return f"{base}ing"


_PAST = {_participle(base): past for base, past in (pair.split(":") for pair in LEXICON["past tenses"])}


def past_tense(participle: str) -> str | None:
    """Return the past tense that belongs to a participle in -ing ("co-wrote" to "co-writing"), or None for another word."""
    word = participle.lower()
    prefix, hyphen, verb = word.rpartition("-")
    if verb in _PAST:
        return f"{prefix}{hyphen}{_PAST[verb]}"
    if not word.endswith("ing") or len(word) < 5:
        return None
    stem = word[:-3]
    if stem.endswith("e"):
        return f"{stem}d"
    if stem.endswith("y") and stem[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{stem[:-1]}ied"
    return f"{stem}ed"


def article(phrase: str) -> str:
    """Return "a" or "an" as the beginning of a phrase is spoken: "an actor", "a European", "an hour"."""
    if _SILENT.match(phrase):
        return "an"
    return "an" if phrase[:1].lower() in tuple("aeiou") and not _CONSONANT.match(phrase) else "a"
