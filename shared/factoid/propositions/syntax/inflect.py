"""Forms of English words that are written where a statement is made of a part of a sentence."""

from __future__ import annotations

import re

# The base of each verb that does not take -ed, with its past tense.
_IRREGULAR = dict(
    pair.split(":")
    for pair in (
        "be:was bear:bore beat:beat become:became begin:began bend:bent bet:bet bid:bid bind:bound bite:bit bleed:bled "
        "blow:blew break:broke breed:bred bring:brought broadcast:broadcast build:built burst:burst buy:bought cast:cast "
        "catch:caught choose:chose cling:clung come:came cost:cost creep:crept cut:cut deal:dealt dig:dug do:did draw:drew "
        "drink:drank drive:drove eat:ate fall:fell feed:fed feel:felt fight:fought find:found flee:fled fly:flew "
        "forbid:forbade forecast:forecast foresee:foresaw forget:forgot forgive:forgave freeze:froze get:got give:gave "
        "go:went grind:ground grow:grew hang:hung have:had hear:heard hide:hid hit:hit hold:held hurt:hurt keep:kept "
        "kneel:knelt know:knew lay:laid lead:led leave:left lend:lent let:let lie:lay light:lit lose:lost make:made "
        "mean:meant meet:met mislead:misled mistake:mistook outdo:outdid overcome:overcame oversee:oversaw overtake:overtook "
        "overthrow:overthrew pay:paid put:put quit:quit read:read rebuild:rebuilt ride:rode ring:rang rise:rose run:ran "
        "say:said see:saw seek:sought sell:sold send:sent set:set shake:shook shed:shed shine:shone shoot:shot show:showed "
        "shrink:shrank shut:shut sing:sang sink:sank sit:sat sleep:slept slide:slid speak:spoke spend:spent spin:spun "
        "split:split spread:spread spring:sprang stand:stood steal:stole stick:stuck strike:struck strive:strove swear:swore "
        "sweep:swept swim:swam swing:swung take:took teach:taught tear:tore tell:told think:thought throw:threw "
        "undergo:underwent understand:understood undertake:undertook upset:upset wake:woke wear:wore weave:wove weep:wept "
        "win:won wind:wound withdraw:withdrew withhold:withheld withstand:withstood write:wrote arise:arose outrun:outran "
        "outsell:outsold override:overrode recast:recast redo:redid remake:remade repay:repaid rerun:reran reset:reset "
        "resell:resold retake:retook retell:retold rewrite:rewrote sling:slung undo:undid uphold:upheld"
    ).split()
)
# "win" and "quit", not "hear": the last consonant is written twice before -ing.
_DOUBLED = re.compile(r"(?:[^aeiou]|qu)[aeiou][bdgmnpt]$")


def _participle(base: str) -> str:
    if _DOUBLED.search(base):
        return f"{base}{base[-1]}ing"
    if base.endswith("ie"):
        return f"{base[:-2]}ying"
    if base.endswith("e") and not base.endswith(("ee", "oe")) and base != "be":
        return f"{base[:-1]}ing"
    return f"{base}ing"


_PAST = {_participle(base): past for base, past in _IRREGULAR.items()}


def past_tense(participle: str) -> str | None:
    """Return the past tense that belongs to a participle in -ing, or None for another word.

    "winning" gives "won", "studying" gives "studied", "co-writing" gives "co-wrote".
    """
    word = participle.lower()
    if word in _PAST:
        return _PAST[word]
    if not word.endswith("ing") or len(word) < 5:
        return None
    prefix, hyphen, verb = word.rpartition("-")
    if hyphen and verb in _PAST:
        return f"{prefix}-{_PAST[verb]}"
    stem = word[:-3]
    if stem.endswith("e"):
        return f"{stem}d"
    if stem.endswith("y") and stem[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{stem[:-1]}ied"
    return f"{stem}ed"


# Spelled with a vowel that is not spoken first, and the other way round.
_CONSONANT = re.compile(r"(?:eu|ewe|one\b|once|uni(?!n|m|d)|us(?:[aeiu]|\b)|u[bt]i|uk|utah|u\b)", re.IGNORECASE)
_SILENT = re.compile(r"(?:hou?rs?\b|hono|honest|heir)", re.IGNORECASE)


def article(phrase: str) -> str:
    """Return "a" or "an" as the beginning of a phrase is spoken: "an actor", "a European", "an hour"."""
    if _SILENT.match(phrase):
        return "an"
    return "an" if phrase[:1].lower() in tuple("aeiou") and not _CONSONANT.match(phrase) else "a"
