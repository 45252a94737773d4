"""Tell what a line could be if it stands alone: a numbered heading, one in capitals, a caption, a date.

This looks at one line only. `plain_headings` decides by what stands around it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Form = Literal["number", "name", "strong", "capitals", "title", "word", "plain"]

_CHARS, _WORDS = 100, 12
_TITLE_CHARS, _TITLE_WORDS = 140, 18  # in capitals or with capital letters, as the first line of a text
_PLAIN_WORDS = 8  # of a line that is written like a sentence

_KEYWORD = (
    r"Article|Section|Chapter|Part|Book|Volume|Appendix|Annex|Schedule|Exhibit|Act|Scene|Title|Clause|Lesson|Unit|Module|"
    r"Artikel|Abschnitt|Kapitel|Teil|Buch|Anhang|Anlage|Chapitre|Partie|Titre|Annexe|Cap[ií]tulo|Parte|Sección|Anexo|"
    r"Capitolo|Sezione|Hoofdstuk|Rozdział|Глава|Часть|Раздел"
)
_NUMBER_WORD = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty"
_NUMBERED = re.compile(
    rf"""(?:(?P<word>§+|(?i:{_KEYWORD})\b)[ ]?)?
      (?P<value>\d{{1,3}}(?:\.\d{{1,3}})*[a-z]?|[IVXLC]{{1,7}}|[A-Z]|(?i:{_NUMBER_WORD})\b)
      (?P<close>[.):])?(?:[ ]?[-–—:.]?[ ]+(?P<rest>\S.*)|)""",
    re.VERBOSE,
)
_CHINESE_NUMBER = re.compile(r"第[\d一二三四五六七八九十百零〇]{1,5}[章节節条條部篇]")
_ROMAN = re.compile(r"(?=.)(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}

# Lines that are headings wherever they stand above a text.
_NAMES = re.compile(
    r"(?:abstract|introduction|background|summary|overview|conclusions?|discussion|results|references|bibliography|"
    r"methods?|materials and methods|related work|acknowledge?ments?|limitations|preface|foreword|prologue|epilogue|"
    r"appendix|annex|schedule|glossary|table of contents|contents|executive summary|future work|results and discussion|"
    r"conflicts? of interest|supporting information|author contributions|funding|ingredients|directions|instructions|"
    r"preparation|frequently asked questions|faqs?|einleitung|zusammenfassung|einführung|fazit|literatur|ergebnisse|"
    r"methoden|diskussion|vorwort|nachwort|inhalt|inhaltsverzeichnis|zutaten|zubereitung|anhang|résumé|conclusions?|"
    r"références|ingrédients|préparation|resumen|introducción|conclusión|referencias|ingredientes|preparación)",
    re.IGNORECASE,
)

_LETTER = re.compile(r"[^\W\d_]")
_CAPTION = re.compile(
    r"(?:(?:Figures?|Figs?\.?|Tables?|Tabs?\.|Plates?|Charts?|Diagrams?|Photos?|Images?|Maps?|Box|Listing|Graph|Scheme|"
    r"Illustration|Exhibit|Abb(?:ildung|\.)|Tabelle|Bild|Foto|Tableau|Cuadro|Figura|Tabla|Рис\.|Таблица)"
    r"\s*(?:[A-Z]{0,2}\.?\d|[A-Z]\b[.:]|[IVX]+\b[.:]?|:)"
    r"|(?:Photo|Photograph|Image|Picture|Illustration|Map|Chart|Courtesy|Credit|Foto)s?(?: \w+)? (?:by|of|from|courtesy|von|par)\b"
    r"|(?:Sources?|Credits?|Quelle|Notes?|Legend|Copyright|©|\(c\))(?:\s*:|\s*©|\s\d{4}))",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary|uar|\.)?|Feb(?:ruary|ruar|\.)?|Mar(?:ch|\.)?|März|Apr(?:il|\.)?|May|Mai|June?|Juni|July?|Juli|Aug(?:ust|\.)?|"
    r"Sept?(?:ember|\.)?|O[ck]t(?:ober|\.)?|Nov(?:ember|\.)?|De[cz](?:ember|\.)?)"
)
_DAY = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)"
_DATE = re.compile(
    rf"(?:[^\W\d_]+(?: [^\W\d_]+)?, )?(?:{_DAY}[,.]? )?(?:the )?(?:"
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?:,? \d{{2,4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|"
    rf"{_MONTH},? \d{{4}}|\d{{4}}-\d\d?-\d\d?.*|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}.*|{_DAY})",
    re.IGNORECASE,
)
_UNIT = (
    r"(?:[kmcµn]?[gmlLWVAJ]|[kMGT]?i?B|[kMG]?Hz|kWh|Ah|mAh|px|dpi|pt|°[CF]|%|€|\$|£|EUR|USD|GBP|CHF|h|min|s|ms|days?|hours?|"
    r"minutes?|seconds?|litres?|liters?|metres?|meters?|inch(?:es)?|feet|ft|lbs?|oz|cups?|tbsp|tsp|euros?|dollars?|pounds?|kilos?)"
)
_VALUE = re.compile(
    rf"\d\s?{_UNIT}(?![\w])\s*\Z|[$€£¥]\s?\d|\d\s?[€£]|\d+\s?[x×]\s?\d+|\b\d{{1,2}}:\d\d\b|\A\d[\d.,]*\s?{_UNIT}\b"
)
_MARKS = re.compile(
    r"[|\t<>{}\[\]\\^~`=@;_…]|\.{2,}|://|www\.|\.(?:jpe?g|png|gif|svg|pdf|docx?|xlsx?|csv|txt|html?|json|log|py|exe|zip)\b|"
    r"\S(?: {2,})\S"
)
_OPENING_MARK = re.compile(r"[\"'“”„«»‘’‚(\[*+\-–—•●▪■►‣>|#/\\~.,:;!?&%@$€£_=]")
_STAGE = re.compile(r"(?:Enter|Exit|Exeunt|Re-enter|Curtain|Blackout|Lights)\b")
_PAGE = re.compile(
    r"(?:page|seite|p\.|pg\.?|sheet|blatt|folio)\s*[\divxlc]+\b.*|.*\bpage \d+(?: of \d+)?|.*\bSeite \d+(?: von \d+)?",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"(?:for immediate release|embargoed|confidential|strictly confidential|private and confidential|draft|"
    r"all rights reserved|continued|to be continued|advertisement|this page|scanned|written by|edited by|"
    r"translated by|signed|copy)\b.*",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"(?i:by|von|par|por|di) [^\W\d_a-zß-ÿ]")
_EXACT_NOTICE = re.compile(
    r"(?:the end|fin|copy|draft|signed|applause|laughter|warning|caution|danger|notice|important|attention|tip|"
    r"warnung|achtung|vorsicht|gefahr|hinweis|wichtig|tipp|attention|avertissement|remarque|advertencia|nota)",
    re.IGNORECASE,
)
_ENDS_IN_DATE = re.compile(rf"\b{_MONTH},? \d{{4}}\Z|\b\d{{4}}-\d\d-\d\d\Z", re.IGNORECASE)
_ENDS_IN_NUMBER = re.compile(r"(?<![\w.])(?!(?:19|20)\d\d\Z)\d[\d,]*\Z")
_ASKS = re.compile(
    r"(?:what|how|why|when|where|who|whom|whose|which|if|whether|was|wie|warum|wann|wo|wer|welche[rsnm]?|wenn|ob)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:I|He|She|It|They|We|You|There|This|That|These|Those|Es|Er|Sie|Wir|Ihr|Ich|Das|Dies)(?:['’]\w+)? (?!and |or |und |oder )[a-zß-ÿ]"
)
_SUBJECT = re.compile(r"[a-zß-ÿ,] (?:I|he|she|we|they|ich|wir|er) [a-zß-ÿ]")
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|could|shall|should|must|cannot|did|does|said|says|went|came|became|"
    r"isn['’]t|aren['’]t|wasn['’]t|don['’]t|doesn['’]t|didn['’]t|won['’]t|can['’]t|ist|sind|wird|werden|wurde|wurden|hat|haben|kann|muss)\b"
)
_CUT = re.compile(
    r"\b(?:the|a|an|of|and|or|to|for|with|by|from|in|at|on|as|that|which|is|are|was|der|die|das|und|oder|von|mit|für|de|la|le|et)\Z"
)
_SMALL = re.compile(r"[^\W\d_]*[a-zß-ÿ][^\W\d_]*")
_SHORT_WORD = 3  # letters: "and", "of" and "for" are small in titles


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
        is_doubtful: Whether it is so long, or so much like a list, that only the title of a text can be one.
    """

    form: Form
    number: Number | None = None
    is_doubtful: bool = False


def heading_line(text: str, is_strong: bool = False) -> HeadingLine | None:
    """Tell what heading a line could be; None if it could be none."""
    line = text.strip()
    if is_strong:
        line = line.removesuffix(":").rstrip()
    if not line or "\n" in line or len(line) > _TITLE_CHARS or line[-1] in ".!?:;,…。！？，：；-–—/":
        return None
    if _CHINESE_NUMBER.match(line) and len(line) <= _CHARS:
        return HeadingLine("number", Number("第", (), True, True))
    words = len(line.split())
    is_long = len(line) > _CHARS or words > _WORDS
    number, rest = _number(line)
    if not number and not (_LETTER.match(line) and line[0].isupper()) and not is_strong:
        return None
    if words > _TITLE_WORDS or not _may_be_heading(line, rest if number else line, number is not None):
        return None
    if number:
        return None if is_long else HeadingLine("number", number)
    if _ENDS_IN_DATE.search(line):
        return None
    form = _form(line, is_strong)
    if form is None or (is_long and form not in ("capitals", "title")):
        return None
    is_loose = form == "plain" and (words > _PLAIN_WORDS or "," in line or _ENDS_IN_NUMBER.search(line) is not None)
    return HeadingLine(form, None, is_long or is_loose)


def is_caption(text: str) -> bool:
    """Tell whether a line is the caption or the credit of a picture or a table."""
    return _CAPTION.match(text.strip()) is not None


def is_notice(text: str) -> bool:
    """Tell whether a line may stand above the title of a text: a date, or "For immediate release"."""
    line = text.strip()
    if "\n" in line or not line:
        return False
    return any(pattern.fullmatch(line) for pattern in (_NOTICE, _EXACT_NOTICE, _DATE))


def is_page_line(text: str) -> bool:
    """Tell whether a line holds the number of a page and nothing else."""
    line = text.strip()
    return "\n" not in line and len(line) <= _CHARS and (not _LETTER.search(line) or _PAGE.fullmatch(line) is not None)


def _may_be_heading(line: str, rest: str, is_numbered: bool) -> bool:
    if _OPENING_MARK.match(line) or _CAPTION.match(line) or _VALUE.search(line) or _MARKS.search(rest):
        return False
    if (
        _DATE.fullmatch(line)
        or _PAGE.fullmatch(line)
        or _STAGE.match(line)
        or _BYLINE.match(line)
        or _EXACT_NOTICE.fullmatch(line)
    ):
        return False
    is_notice = _NOTICE.fullmatch(line) is not None and (line[:1].isupper() and len(line.split()) > 1)
    if is_notice and not is_numbered:
        return False
    return not _is_sentence(rest) and len(re.findall(r"(?<![\w.])\d[\d,]*(?![\w.])", rest)) < 3


def _is_sentence(text: str) -> bool:
    if _CUT.search(text):
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
    small = [word for word in words[1:] if word[0].islower() and len(word.strip("'’")) > _SHORT_WORD]
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
    word, written, close = (match["word"] or "").casefold(), match["value"], match["close"]
    rest = match["rest"] or ""
    has_word = bool(word)
    if written[0].isdigit():
        if not has_word and (not rest or not (rest[0].isupper() or rest[0].isdigit() or not rest[0].isascii())):
            return None, line  # the number of a page; a quantity
        value = tuple(int(part.rstrip("abcdefghijklmnopqrstuvwxyz")) for part in written.split("."))
        is_sure = has_word or len(value) > 1
        return Number(f"{word}1{close if len(value) == 1 else ''}", value, has_word, is_sure), rest
    if has_word and len(written) > 1 and written.casefold() in _NUMBER_WORD.split("|"):
        return Number(f"{word}one", (_NUMBER_WORD.split("|").index(written.casefold()) + 1,), True, True), rest
    if _ROMAN.fullmatch(written) and (has_word or close or not rest) and not (written in "CL" and not has_word):
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
