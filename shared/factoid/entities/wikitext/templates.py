"""The templates that stand for words of a sentence, as text. All others, boxes and notices and notes, show nothing.

They are those of the English Wikipedia; other wikis share many of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from factoid.entities.wikitext.dates import as_of, date_of_template
from factoid.entities.wikitext.formulas import superscript
from factoid.entities.wikitext.languages import LANGUAGES
from factoid.entities.wikitext.quantities import convert, fraction, height, value


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a template was given, as text: `listed` by position, `named` by name."""

    listed: tuple[str, ...]
    named: Mapping[str, str]

    def __getitem__(self, place: int) -> str:
        """Return the argument at a place from 0; "" where there is none."""
        return self.listed[place] if place < len(self.listed) else self.named.get(str(place + 1), "")


Renderer = Callable[[Arguments], str]

# Templates that show one of their arguments, by its place.
_SHOWN = {
    0: "nowrap nobr nobold noitalic small smaller big large larger sc smallcaps small-caps sub linktext keypress key "
    "abbr abbrlink tooltip visible-anchor vanchor not-a-typo as-written proper-name chem2 mvar math bigmath flag flagu "
    "flagcountry nts num iast unicode polytonic hebrew arabic nastaliq em strong "
    "code mono var samp kbd underline allcaps center centered text ipa char grapheme pslink verse-translation "
    "no-wrap bold nihongo2 nq naskh",
    1: "lang lang2 rtl-lang native-name background-color hover-title lsj sort",
}
# Templates that stand for characters.
_FIXED = {
    "–": "ndash en-dash endash", "—": "mdash em-dash emdash", " – ": "snd spnd spaced-ndash snds dash spaced-en-dash",
    " — ": "spaced-mdash mdashb", " ": "nbsp spaces space thinsp thin-space hair-space hairsp", "·": "· middot dot",
    "•": "• bull bullet", "|": "! pipe", "=": "=", "'": "' apostrophe apos", "''": "''", "{": "(", "}": ")", "π": "pi",
    "ʻ": "okina", "ʾ": "hamza", "ʿ": "ayin", "†": "dagger", "₹": "indian-rupee rupee",
    "C": "carbon", "H": "hydrogen", "O": "oxygen", "N": "nitrogen",
}  # fmt: skip
_BEFORE = {
    "US$": "us$ usd", "£": "gbp £ pound-sterling",
    "€": "eur € euro", "₹": "inr ₹", "¥": "jpy ¥ cny", "A$": "aud a$", "C$": "cad c$", "√": "sqrt radic",
    "No. ": "no. numero number-sign", "HMS ": "hms", "USS ": "uss", "SS ": "ss", "RMS ": "rms", "HMAS ": "hmas", "HMCS ": "hmcs",
    "MV ": "mv", "USNS ": "usns", "USCGC ": "uscgc",
}  # fmt: skip
_JOINED = {
    ", ": "hlist plainlist flatlist ubl unbulleted-list ublist vunblist cslist comma-separated-entries",
    " ": "sic sortname",
}
_ACCIDENTALS = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
_CODE = re.compile(r"[a-z]{2,3}(-[a-z]+)?")
_CHARGE = re.compile(r"\d*[+−-]")


def template_name(written: str) -> str:
    """Return a template's name as the table below has it: in lower case, with single spaces."""
    return " ".join(written.replace("_", " ").lower().split())


def renderer(name: str) -> Renderer | None:
    """Return what shows a template of this name (see `template_name`); None if it shows nothing."""
    if found := _RENDERERS.get(name):
        return found
    if name.startswith("lang-"):
        return _named_language(name.removeprefix("lang-"))
    function, colon, argument = name.partition(":")
    if colon and function in ("formatnum", "lc", "uc", "ucfirst", "lcfirst"):
        return lambda _: argument
    return None


def _named_language(code: str) -> Renderer:
    language = LANGUAGES.get(code) or LANGUAGES.get(code.partition("-")[0], "")
    prefix = f"{language}: " if language else ""
    return lambda given: prefix + given[0] if given[0] else ""


def _langx(given: Arguments) -> str:
    return _named_language(given[0])(Arguments((given[1] or given.named.get("text", ""),), {}))


def _quote(given: Arguments) -> str:
    return given.named.get("text") or given.named.get("quote") or given[0]


def _last(given: Arguments) -> str:
    return given.listed[-1] if given.listed else ""


def _nihongo(given: Arguments) -> str:
    notes = [part for part in given.listed[1:3] if part.strip()]
    if not given[0]:
        return ", ".join(notes)
    return f"{given[0]} ({', '.join(notes)})" if notes else given[0]


def _chinese(given: Arguments) -> str:
    for name in ("c", "s", "t"):
        if characters := given.named.get(name) or given[0]:
            spelling = given.named.get("p")
            return f"Chinese: {characters}; pinyin: {spelling}" if spelling else f"Chinese: {characters}"
    return ""


def _interlanguage(given: Arguments) -> str:
    if shown := given.named.get("lt"):
        return shown
    # Until 2018 the language came first: {{ill|de|Title|label}}; since then, {{ill|Title|de|Titel}}.
    return (given[2] or given[1]) if _CODE.fullmatch(given[0].strip()) else given[0]


def _circa(given: Arguments) -> str:
    return " – ".join(f"c. {part}" for part in given.listed[:2] if part) or "c. "


def _span(prefix: str) -> Renderer:
    return lambda given: prefix + "–".join(part for part in given.listed[:2] if part)


def _chemical(given: Arguments) -> str:
    return "".join(superscript(part) if _CHARGE.fullmatch(part.strip()) else part.strip() for part in given.listed)


def _ship(given: Arguments) -> str:
    return f"{given[0]} {given[1]}".strip()


def _ordinal(given: Arguments) -> str:
    number = given[0].strip()
    ending = "th" if number[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1:], "th")
    return number + ending if number.isdigit() else number


def _old_style(given: Arguments) -> str:
    return f"{given[0]} {given[1]} (Old Style {given[2]})" if given[2] else f"{given[0]} {given[1]}"


def _tables() -> dict[str, Renderer]:
    found: dict[str, Renderer] = {}

    def enter(names: str, show: Renderer) -> None:
        found.update(dict.fromkeys((name.replace("-", " ") for name in names.split()), show))
        found.update(dict.fromkeys(names.split(), show))

    for place, names in _SHOWN.items():
        enter(names, lambda given, place=place: given[place])  # type: ignore[misc]
    for text, names in _FIXED.items():
        enter(names, lambda given, text=text: text + given[0] if text.isalpha() else text)  # type: ignore[misc]
    for text, names in _BEFORE.items():
        enter(names, lambda given, text=text: text + given[0] if given[0] else "")  # type: ignore[misc]
    for text, names in _JOINED.items():
        enter(names, lambda given, text=text: text.join(part.strip() for part in given.listed if part.strip()))  # type: ignore[misc]
    enter("quote quotation bquote blockquote cquote quote-box quotebox poemquote poem-quote rquote block-quote", _quote)
    enter("transl transliteration script resize color font-color", _last)
    enter("angbr angle-bracket angle-brackets", lambda given: f"⟨{given[0]}⟩")
    enter("sup", lambda given: superscript(given[0]))
    enter("convert cvt", lambda given: convert(given.listed, given.named))
    enter("val", lambda given: value(given.listed, given.named))
    enter("frac sfrac fraction", lambda given: fraction(given.listed))
    enter("height", lambda given: height(given.named))
    enter("as-of", lambda given: as_of(given.listed, given.named))
    enter(
        "start-date birth-date death-date end-date start-date-and-age birth-date-and-age death-date-and-age date dts "
        "birth-year-and-age end-date-and-age film-date dob bda",
        lambda given: date_of_template(given.listed, given.named),
    )
    enter("langx", _langx)
    enter("nihongo", _nihongo)
    enter("zh lang-zh", _chinese)
    enter("ill interlanguage-link interlanguage-link-multi illm", _interlanguage)
    enter("circa c. ca. ca", _circa)
    enter("floruit fl. fl", _span("fl. "))
    enter("reign r.", _span("r. "))
    enter("chem", _chemical)
    enter("ship", _ship)
    enter("music", lambda given: _ACCIDENTALS.get(given[0].strip(), given[0]))
    enter("ordinal ord", _ordinal)
    enter("oldstyledate old-style-date", _old_style)
    enter("e esp", lambda given: "×10" + superscript(given[0]))
    enter("10^", lambda given: "10" + superscript(given[0]))
    return found


_RENDERERS = _tables()
