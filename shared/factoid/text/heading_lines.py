"""Tell what a line could be if it stands alone.

It may be a numbered heading, one in capitals, a caption or a date.

This looks at one line only. `plain_headings` decides by what stands around it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from factoid.text.introductions import is_label, is_unfinished

Form = Literal["number", "name", "strong", "capitals", "title", "word", "plain"]

_CHARS, _WORDS = 100, 10
_NUMBERED_WORDS = 14
_TITLE_CHARS, _TITLE_WORDS = 140, 18  # of the title of a text, in capitals or with capital letters
_PLAIN_WORDS = 8  # of a line that is written like a sentence
_SHORT_WORD = 3  # letters: "and", "of" and "for" are small in titles

# Numbers

_KEYWORD = (
    r"Article|Section|Chapter|Part|Book|Volume|Appendix|Annex|Schedule|Exhibit|Act|Scene|Title|"
    r"Clause|Lesson|Unit|Module|Artikel|Abschnitt|Kapitel|Teil|Buch|Anhang|Anlage|Chapitre|Partie|"
    r"Titre|Annexe|Cap[ií]tulo|Parte|Sección|Anexo|Capitolo|Sezione|Hoofdstuk|Rozdział|"
    r"Глава|Часть|Раздел"
)
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_NUMBERED = re.compile(
    rf"""(?:(?P<word>§+|(?i:{_KEYWORD})\b)[ ]?)?
      (?P<value>\d{{1,3}}(?:\.\d{{1,3}})*[a-z]?|[IVXLC]{{1,7}}|[A-Z]
        |(?i:{"|".join(_NUMBER_WORDS)})\b)
      (?P<close>[.):])?(?:[ ]?[-–—:.]?[ ]+(?P<rest>\S.*)|)""",
    re.VERBOSE,
)
_CHINESE_NUMBER = re.compile(r"第[\d一二三四五六七八九十百零〇]{1,5}[章节節条條部篇]")
_ROMAN = re.compile(r"(?=.)C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_NUMBER_WITHIN = re.compile(r"(?<![\w.])\d[\d,]*(?![\w.])")
_ENDS_IN_NUMBER = re.compile(r"(?<![\w.])(?!(?:19|20)\d\d\Z)\d[\d,]*\Z")

# Lines that are headings wherever they stand above a text

_NAMES = re.compile(
    r"(?:abstract|introduction|background|summary|overview|conclusions?|discussion|results|"
    r"references|bibliography|methods?|materials and methods|related work|acknowledge?ments?|"
    r"limitations|preface|foreword|prologue|epilogue|appendix|annex|schedule|glossary|"
    r"table of contents|contents|executive summary|future work|results and discussion|"
    r"conflicts? of interest|supporting information|author contributions|funding|ingredients|"
    r"directions|instructions|preparation|frequently asked questions|faqs?|einleitung|"
    r"zusammenfassung|einführung|fazit|literatur|ergebnisse|methoden|diskussion|vorwort|nachwort|"
    r"inhalt|inhaltsverzeichnis|zutaten|zubereitung|anhang|résumé|références|ingrédients|"
    r"préparation|resumen|introducción|conclusión|referencias|ingredientes|preparación)",
    re.IGNORECASE,
)

# Lines that are none

_LETTER = re.compile(r"[^\W\d_]")
_CAPTION = re.compile(
    r"(?:(?:Figures?|Figs?\.?|Tables?|Tabs?\.|Plates?|Charts?|Diagrams?|Photos?|Images?|Maps?|Box|"
    r"Listing|Graph|Scheme|Illustration|Exhibit|Abb(?:ildung|\.)|Tabelle|Bild|Foto|Tableau|Cuadro|"
    r"Figura|Tabla|Рис\.|Таблица)\s*(?:[A-Z]{0,2}\.?\d|[A-Z]\b[.:]|[IVX]+\b[.:]?|:)|"
    r"(?:Photo|Photograph|Image|Picture|Illustration|Map|Chart|Courtesy|Credit|Foto)s?(?: \w+)? "
    r"(?:by|courtesy|von|par)\b|Courtesy of\b|"
    r"(?:Sources?|Credits?|Quelle|Notes?|Legend|Copyright|©|\(c\))(?:\s*:|\s*©|\s\d{4}))",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary|uar|\.)?|Feb(?:ruary|ruar|\.)?|Mar(?:ch|\.)?|März|Apr(?:il|\.)?|May|Mai|June?|"
    r"Juni|July?|Juli|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|O[ck]t(?:ober|\.)?|Nov(?:ember|\.)?|"
    r"De[cz](?:ember|\.)?)"
)
_DAY = (
    r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?|"
    r"Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)"
)
_DATE = re.compile(
    rf"(?:[^\W\d_]+(?: [^\W\d_]+)?, )?(?:{_DAY}[,.]? )?(?:the )?(?:"
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?:,? \d{{2,4}})?|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|{_MONTH},? \d{{4}}|"
    rf"\d{{4}}-\d\d?-\d\d?.*|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}.*|{_DAY})",
    re.IGNORECASE,
)
_ENDS_IN_DATE = re.compile(rf"\b{_MONTH},? \d{{4}}\Z|\b\d{{4}}-\d\d-\d\d\Z", re.IGNORECASE)
_UNIT = (
    r"(?:[kmcµn]?[gmlLWVAJ]|[kMGT]?i?B|[kMG]?Hz|kWh|Ah|mAh|px|dpi|pt|°[CF]|%|€|\$|£|EUR|USD|GBP|"
    r"CHF|h|min|s|ms|days?|hours?|minutes?|seconds?|litres?|liters?|metres?|meters?|inch(?:es)?|"
    r"feet|ft|lbs?|oz|cups?|tbsp|tsp|euros?|dollars?|pounds?|kilos?)"
)
_VALUE = re.compile(
    rf"\d\s?{_UNIT}(?!\w)\s*\Z|\A\d[\d.,]*\s?{_UNIT}\b|"
    r"[$€£¥]\s?\d|\d\s?[€£]|\d\s?[x×]\s?\d|\b\d{1,2}:\d\d\b"
)
_MARKS = re.compile(
    r"[|\t<>{}\[\]\\^~`=@;_…]|\.{2}|://|www\.|\S {2,}\S|"
    r"\.(?:jpe?g|png|gif|svg|pdf|docx?|xlsx?|csv|txt|html?|json|log|py|exe|zip)\b"
)
_OPENING_MARK = re.compile(r"[\"'“”„«»‘’‚(\[*+\-–—•●▪■►‣>|#/\\~.,:;!?&%@$€£_=]")
_STAGE = re.compile(r"(?:Enter|Exit|Re-enter) [A-Z]{2}|(?:Exit|Exeunt|Curtain|Blackout)\Z|Exeunt ")
_PAGE = re.compile(
    r"(?:page|seite|p\.|pg\.?|sheet|blatt|folio)\s*[\divxlc]+\b.*|.*\bpage \d+(?: of \d+)?|"
    r".*\bSeite \d+(?: von \d+)?",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"(?:for immediate release|embargoed|all rights reserved|to be continued|written by|edited by|"
    r"translated by|this page is|this page intentionally|signed (?:by|for|on))\b.*|"
    r"(?:strictly |private and )?confidential|draft|copy|signed|continued|the end|fin|advertisement"
    r"|"
    r"applause|laughter|warning|caution|danger|notice|important|attention|tip|warnung|achtung|"
    r"vorsicht|gefahr|hinweis|wichtig|tipp|avertissement|remarque|advertencia|nota",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"(?i:by|von|par|por|di) [^\W\d_a-zß-ÿ]")

# Sentences without a full stop

_ASKS = re.compile(
    r"(?:what|how|why|when|where|who|whom|whose|which|if|whether|was|wie|warum|wann|wo|wer|"
    r"welche[rsnm]?|wenn|ob)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:I|He|She|It|They|We|You|There|This|That|These|Those|Es|Er|Sie|Wir|Ihr|Ich|Das|Dies)"
    r"(?:['’]\w+)? (?!and |or |und |oder )[a-zß-ÿ]"
)
_SUBJECT = re.compile(r"[a-zß-ÿ,] (?:I|he|she|we|they|ich|wir|er) [a-zß-ÿ]")
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|could|shall|should|must|cannot|did|does|said|"
    r"says|went|came|became|(?:is|are|was|do|does|did|wo|ca)n['’]t|ist|sind|wird|werden|wurde|"
    r"wurden|hat|haben|kann|muss)\b"
)
_BREAKS_OFF = re.compile(r"\b(?:is|are|was)\Z")


class Number(NamedTuple):
    """The number of a heading.

    Attributes:
        style: What numbers of one series have in common.
        value: Its parts: (2, 1) for 2.1, (4,) for IV, B is 2.
        has_word: Whether a word such as "Article" stands before it.
        is_sure: Whether it needs no other number of its series beside it.
    """

    style: str
    value: tuple[int, ...]
    has_word: bool
    is_sure: bool


class HeadingLine(NamedTuple):
    """A line that could be a heading.

    Attributes:
        form: "number" for numbered ones, "name" for words such as "Introduction", "strong" for bold
            ones, "capitals"; "title" for several words with capital letters, "word" for a single
            one, "plain" for what is written like a sentence.
        number: Of a numbered one.
        is_doubtful: Whether it is so long, or so much like a list, that only the title of a text
            can be one.
    """

    form: Form
    number: Number | None = None
    is_doubtful: bool = False


def heading_line(text: str, is_strong: bool = False) -> HeadingLine | None:
    """Tell what heading a line could be; None if it could be none."""
    line = text.strip()
    if is_strong:
        line = line.removesuffix(":").rstrip()
    if (
        not line
        or "\n" in line
        or len(line) > _TITLE_CHARS
        or line[-1] in ".!?:;,…。！？，：；-–—/"
    ):
        return None
    if _CHINESE_NUMBER.match(line) and len(line) <= _CHARS:
        return HeadingLine("number", Number("第", (), True, True))
    words = len(line.split())
    is_long = len(line) > _CHARS or words > _WORDS
    number, rest = _number(line)
    if not number and not (_LETTER.match(line) and line[0].isupper()) and not is_strong:
        return None
    if words > _TITLE_WORDS or not _may_be_heading(line, rest):
        return None
    if number:
        if len(line) > _CHARS or words > _NUMBERED_WORDS:
            return None
        return HeadingLine("number", number)
    if _ENDS_IN_DATE.search(line):
        return None
    form = _form(line, is_strong)
    if form is None or (is_long and form not in ("capitals", "title")):
        return None
    is_loose = form == "plain" and (
        words > _PLAIN_WORDS or "," in line or _ENDS_IN_NUMBER.search(line) is not None
    )
    return HeadingLine(form, None, is_long or is_loose)


def names_paragraphs(item: str) -> bool:
    """Tell whether an item of a list is a label: it names what the paragraphs below it say."""
    label = item.rstrip(":： ")
    return is_label(label) and not is_sentence(label)


def is_part_number(text: str) -> bool:
    """Tell whether a line is the number of a part with its word, and nothing else: "Chapter 1"."""
    number, rest = _number(text.strip())
    return number is not None and number.has_word and not rest


def is_caption(text: str) -> bool:
    """Tell whether a line is the caption or the credit of a picture or a table."""
    return _CAPTION.match(text.strip()) is not None


def is_notice(text: str) -> bool:
    """Tell whether a line may stand above the title of a text.

    Such lines are dates and "For immediate release".
    """
    line = text.strip()
    return _NOTICE.fullmatch(line) is not None or _DATE.fullmatch(line) is not None


def is_page_line(text: str) -> bool:
    """Tell whether a line holds the number of a page and nothing else."""
    line = text.strip()
    return (
        "\n" not in line
        and len(line) <= _CHARS
        and (not _LETTER.search(line) or _PAGE.fullmatch(line) is not None)
    )


def _may_be_heading(line: str, rest: str) -> bool:
    """Return whether nothing says that a line is no heading.

    `rest` is what follows its number.
    """
    if (
        _OPENING_MARK.match(line)
        or _CAPTION.match(line)
        or _VALUE.search(line)
        or _MARKS.search(rest)
    ):
        return False
    if any(pattern.fullmatch(line) for pattern in (_DATE, _PAGE, _NOTICE)):
        return False
    if _STAGE.match(line) or _BYLINE.match(line) or is_sentence(rest):
        return False
    return len(_NUMBER_WITHIN.findall(rest)) < 3


def is_sentence(text: str) -> bool:
    """Tell whether a line without a stop reads like a sentence or breaks off: it is no heading."""
    text = text.lower() if text.isupper() else text
    if is_unfinished(text) or _BREAKS_OFF.search(text):
        return True
    if _ASKS.match(text):
        return False
    if _SUBJECT.search(text):
        return True
    return _PRONOUN.match(text) is not None or _FINITE.search(text) is not None


def _form(line: str, is_strong: bool) -> Form | None:
    if _NAMES.fullmatch(line):
        return "name"
    if is_strong:
        return "strong"
    letters = _LETTER.findall(line)
    if len(letters) < 3:
        return None
    if line == line.upper() and line != line.lower():
        return "capitals"
    words = line.split()
    if len(words) == 1:
        return "word"
    small = [
        word for word in words[1:] if word[0].islower() and len(word.strip("'’")) > _SHORT_WORD
    ]
    capital = [word for word in words[1:] if word[0].isupper()]
    if capital and not small:
        return "title"
    if capital and len(capital) >= 2 * len(small):
        return "title"
    return "plain"


def _number(line: str) -> tuple[Number | None, str]:
    """Return the number that a line starts with, and what follows it."""
    match = _NUMBERED.fullmatch(line)
    if not match:
        return None, line
    word = (match["word"] or "").casefold()
    written = match["value"]
    close = match["close"] or ""
    rest = match["rest"] or ""
    has_word = bool(word)
    if written[0].isdigit():
        if not has_word and (
            not rest or not (rest[0].isupper() or rest[0].isdigit() or not rest[0].isascii())
        ):
            return None, line  # the number of a page; a quantity
        value = tuple(int(part.rstrip("abcdefghijklmnopqrstuvwxyz")) for part in written.split("."))
        is_sure = has_word or len(value) > 1
        return Number(f"{word}1{close if len(value) == 1 else ''}", value, has_word, is_sure), rest
    if has_word and len(written) > 1 and written.casefold() in _NUMBER_WORDS:
        return Number(
            f"{word}one", (_NUMBER_WORDS.index(written.casefold()) + 1,), True, True
        ), rest
    if (
        _ROMAN.fullmatch(written)
        and (has_word or close or not rest)
        and not (written in "CL" and not has_word)
    ):
        return Number(f"{word}I{close}", (_roman(written),), has_word, has_word), rest
    if len(written) == 1 and (has_word or (close in (".", ")") and rest)):
        return Number(f"{word}A{close}", (ord(written) - ord("A") + 1,), has_word, has_word), rest
    return None, line


def _roman(written: str) -> int:
    total = 0
    for place, digit in enumerate(written):
        value = _ROMAN_DIGITS[digit]
        following = _ROMAN_DIGITS.get(written[place + 1 : place + 2], 0)
        total += -value if value < following else value
    return total
