"""Tell which lines introduce the list below them although no colon ends them.

"The Supplier is not liable for" says nothing without its list, and an item "loss of profit" says
the contrary of what is meant without that line.
"""

from __future__ import annotations

import re

# Articles, prepositions, conjunctions and the like: no sentence and no heading ends in them.
# Words that are also nouns, verbs or particles that a line may end in are left out ("on", "van").
_NEVER_LAST = (
    "a an the of to for from with without by at into onto upon against between among during until "
    "unless that which whose because although than as and or nor but not shall should must its "
    "their your our whether if regarding concerning except including "
    "der die das den dem des ein eine einen einem einer eines und oder von mit für zum zur bei "
    "durch gegen ohne wegen während trotz dass wenn weil ob als sowie "
    "le la les un une des du de au aux et ou à avec sans dans sur sous entre contre chez vers que "
    "qui dont lorsque "
    "el los las una unos unas del al para por con hasta desde cuando "
    "il lo gli di della dei delle degli dal dalla nel nella tra fra che "
    "het een voor bij naar dat os as um uma dos das em com sem"
)
# Verbs that want an object, and words that are others in another language. They end a question that
# stands as a heading as well: "Who we are".
_SELDOM_LAST = (
    "about is are was were be been has have had will would can could may might cannot "
    "include includes contain contains comprise comprises require requires exclude excludes "
    "need needs provide provides offer offers cover covers mean means "
    "ist sind war waren wird werden muss müssen kann können darf dürfen soll sollen hat haben "
    "enthält umfasst beinhaltet benötigt "
    "est sont doit doivent peut peuvent comprend comprennent inclut pour "
    "es son debe deben puede pueden incluye incluyen contiene "
    "sono deve devono può possono comprende zijn moet moeten mag mogen são devem podem inclui"
)
# Not a line of one word, as "or" between two lists, and not "example.com".
_UNFINISHED = re.compile(rf"\s(?:{'|'.join(_NEVER_LAST.split())})\Z")
_WANTS_MORE = re.compile(rf"\s(?:{'|'.join(_SELDOM_LAST.split())})\Z")
_PARTICLES = re.compile(r"\w \w+ (?:in|on|over|under|within|through|after|before)\Z")
_TIMES = (
    "years? months? weeks? days? morning evening night season spring summer autumn winter".split()
)
_ANNOUNCES = re.compile(
    rf"\b(?:following(?!\s(?:{'|'.join(_TIMES)})\b)|as follows|these"
    r"|folgende[mnrs]?|suivante?s?|siguientes?|seguent[ei]|seguintes?|volgende)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:what|who|how|why|where|which|was|wer|wie|warum|wo|welche[rsnm]?)\b", re.I)
# A question within a sentence: "That is what friends are for".
_EMBEDDED = re.compile(r"\w\s(?:what|who|whom|how|why|where|when|which|was|wer|wie|wo)\s", re.I)
_GREETINGS = (
    "dear|hi|hello|hey|good (?:morning|afternoon|evening)|best|kind|warm|many thanks|thanks|"
    "thank you|regards|yours|cheers|sincerely|liebe[rs]?|hallo|sehr geehrte[rs]?|"
    "guten (?:tag|morgen)|mit (?:freundlichen|besten)|viele grüße|bonjour|chère?s?|salut|"
    "cordialement|estimad[oa]s?|hola|querid[oa]s?|saludos|car[oaie]|gentil[ei]|ciao|beste|"
    "geachte|prezad[oa]s?|olá|hei|hej|kjære|kära"
)
_GREETS = re.compile(rf"(?:{_GREETINGS})\b", re.IGNORECASE)
_DASH_END = ("—", "–")
_SPEECH = ("—", "–", "»")  # before what somebody says, in some languages
_EMOJI = "\U0001f000"  # the first of them
_LABEL_WORDS = 8  # most words of a line that names the list right below it
_STOPS = tuple('.!?;,:…。！？：；，、"”’»')


def is_unfinished(text: str) -> bool:
    """Tell whether a line breaks off: it ends in an article, a preposition or the like."""
    return _UNFINISHED.search(text) is not None


def introduces(line: str, item: str, *, is_sentence: bool) -> bool:
    """Tell whether a line without a colon at its end introduces the list below it.

    It does if it breaks off or announces a list, or if it is a clause that the items go on from in
    lower case.

    Args:
        line: The last sentence above the list.
        item: The first item, without its number; "" if it is not known.
        is_sentence: Whether the form of the line says that it is no heading.
    """
    goes_on = item[:1].islower()
    if is_unfinished(line):
        return goes_on or not _EMBEDDED.search(line)
    if line.endswith(_DASH_END):
        return " " in line
    if _WANTS_MORE.search(line) and not _ASKS.match(line):
        return goes_on or not _EMBEDDED.search(line)
    if _PARTICLES.search(line) and not _ASKS.match(line):
        return goes_on
    if line.endswith(","):
        return goes_on and not _GREETS.match(line)
    if line.endswith(_STOPS) or not is_sentence:
        return False
    return goes_on or _ANNOUNCES.search(line) is not None


def is_label(line: str) -> bool:
    """Tell whether a line may name what stands right below it: a few words without a stop."""
    if "\n" in line or line.endswith((*_STOPS, *_DASH_END)):
        return False
    first = line[:1]
    return (first.isupper() or first.isdigit()) and len(line.split()) <= _LABEL_WORDS


def names_list(line: str, item: str) -> bool:
    """Tell whether a line names the list right below it, without an empty line between them.

    What somebody says, and a line that begins with an emoji, as headings do, is no item.
    """
    return is_label(line) and not item.startswith(_SPEECH) and item[:1] < _EMOJI
