"""The templates that stand for words of a sentence, as text. All others, boxes and notices and notes, show nothing.

They are those of the English Wikipedia; other wikis share many of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from factoid.entities.wikitext.prepare import superscript

GAP = "\ue000"  # private use: becomes a space after a digit, and nothing elsewhere (see `tidy`)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a template was given, as text: `listed` by position, `named` by name."""

    listed: tuple[str, ...]
    named: Mapping[str, str]

    def __getitem__(self, place: int) -> str:
        """Return the argument at a place from 0; "" where there is none."""
        return self.listed[place] if place < len(self.listed) else self.named.get(str(place + 1), "")

    def get(self, name: str) -> str:
        """Return a named argument; "" where there is none."""
        return self.named.get(name, "").strip()


Renderer = Callable[[Arguments], str]

# Templates that show one of their arguments, by its place.
_SHOWN = {
    0: "nowrap nobr nobold noitalic small smaller big large larger sc smallcaps small-caps sub linktext keypress key "
    "abbr abbrlink tooltip visible-anchor vanchor not-a-typo as-written proper-name chem2 mvar math bigmath flag flagu "
    "flagcountry nts num iast unicode polytonic hebrew arabic nastaliq em strong "
    "code mono var samp kbd underline allcaps center centered text ipa char grapheme pslink verse-translation "
    "no-wrap bold nihongo2 nq naskh music",
    1: "lang lang2 rtl-lang native-name background-color hover-title lsj sort",
    -1: "transl transliteration script resize color font-color",
}
# Templates that stand for characters.
_FIXED = {
    "–": "ndash en-dash endash", "—": "mdash em-dash emdash", " – ": "snd spnd spaced-ndash snds dash spaced-en-dash",
    " — ": "spaced-mdash mdashb", " ": "nbsp spaces space thinsp thin-space hair-space hairsp", "·": "· middot dot",
    "•": "• bull bullet", "|": "! pipe", "=": "=", "'": "' apostrophe apos", "''": "''", "{": "(", "}": ")", "π": "pi",
    "ʻ": "okina", "ʾ": "hamza", "ʿ": "ayin", "†": "dagger", "₹": "indian-rupee rupee",
}  # fmt: skip
_BEFORE = {
    "US$": "us$ usd", "£": "gbp £ pound-sterling", "€": "eur € euro", "₹": "inr ₹", "¥": "jpy ¥ cny",
    "√": "sqrt radic", "No. ": "no. numero number-sign", "HMS ": "hms", "USS ": "uss", "SS ": "ss",
}  # fmt: skip
_JOINED = {
    ", ": "hlist plainlist flatlist ubl unbulleted-list ublist vunblist cslist comma-separated-entries",
    " ": "sic sortname ship",
}
_TEXT_FUNCTIONS = ("formatnum", "lc", "uc", "ucfirst", "lcfirst")  # of MediaWiki itself

_MONTHS = "_ January February March April May June July August September October November December".split()
_CHARGE = re.compile(r"\d*[+−-]")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z]+)?")
_NUMBER = re.compile(r"[-+−]?[\d.,]++")
_BETWEEN = {"-": "–", "–": "–", "x": " × ", "×": " × ", "+/-": " ± ", "±": " ± ", "to": " to ", "and": " and "}
_BETWEEN |= {"or": " or ", "by": " by "}
_UNITS = {
    "sqkm": "km²", "km2": "km²", "sqm": "m²", "m2": "m²", "km3": "km³", "m3": "m³", "sqmi": "sq mi", "sqft": "sq ft",
    "c": "°C", "f": "°F", "kph": "km/h", "pd/km2": "per km²", "pd/sqkm": "per km²", "pd/sqmi": "per sq mi",
}  # fmt: skip
_SMALLER = {("ft", "in"), ("lb", "oz"), ("st", "lb"), ("yd", "ft")}


def template_name(written: str) -> str:
    """Return a template's name as the table below has it: in lower case, with single spaces."""
    return " ".join(written.replace("_", " ").lower().split())


def renderer(name: str) -> Renderer | None:
    """Return what shows a template of this name (see `template_name`); None if it shows nothing."""
    if show := _RENDERERS.get(name.replace(" ", "-")):
        return show
    if name.startswith("lang-"):
        return lambda args: args[0]
    function, _, argument = name.partition(":")
    return (lambda _: argument) if argument and function in _TEXT_FUNCTIONS else None


def _nihongo(args: Arguments) -> str:
    notes = ", ".join(part for part in args.listed[1:3] if part.strip())
    return f"{args[0]} ({notes})" if args[0] and notes else args[0] or notes


def _interlanguage(args: Arguments) -> str:
    # Until 2018 the language came first: {{ill|de|Title|label}}; since then, {{ill|Title|de|Titel}}.
    return args.get("lt") or ((args[2] or args[1]) if _CODE.fullmatch(args[0].strip()) else args[0])


def _convert(args: Arguments) -> str:
    """Return {{convert|12|km|mi}} as "12 km": what was measured, without what it is in other units."""
    number, *parts = [*map(str.strip, args.listed), ""]
    while len(parts) > 2 and parts[0].lower() in _BETWEEN and _NUMBER.fullmatch(parts[1]):
        number += _BETWEEN[parts[0].lower()] + parts[1]
        del parts[:2]
    unit, smaller, smaller_unit, *_ = [*parts, "", "", ""]
    shown = f"{number} {_UNITS.get(unit.lower(), unit)}"
    return f"{shown} {smaller} {smaller_unit}" if (unit, smaller_unit) in _SMALLER else shown.strip()


def _value(args: Arguments) -> str:
    """Return {{val|6.24|e=18|u=m}} as "6.24×10¹⁸ m", and {{val|1|0.2}} as "1±0.2"."""
    number, error, exponent = args[0].strip(), args[1].strip(), args.get("e")
    number += error if not error or error.startswith("(") else f"±{error}"
    return f"{number}{exponent and '×10' + superscript(exponent)} {args.get('u') or args.get('ul')}".strip()


def _fraction(args: Arguments) -> str:
    """Return {{frac|2}} as "1/2", {{frac|3|4}} as "3/4" and {{frac|1|3|4}} as "1 3/4"."""
    match [part.strip() for part in args.listed if part.strip()]:
        case [whole, above, below, *_]:
            return f"{whole} {above}/{below}"
        case [above, below]:
            return f"{GAP}{above}/{below}"
        case parts:
            return "".join(f"{GAP}1/{below}" for below in parts)


def _date(args: Arguments, *, day_first: bool) -> str:
    """Return {{start date|1993|2|24}} and its kin as "February 24, 1993" or "24 February 1993"; {{…|July 1969}} as it is."""
    year, month, day = (args[place].strip() for place in range(3))
    if not year.isdecimal() or not month:
        return year
    month = _MONTHS[int(month)] if month.isdecimal() and 1 <= int(month) <= 12 else month
    day = day.lstrip("0")
    if not day:
        return f"{month} {year}"
    return f"{day} {month} {year}" if day_first else f"{month} {day}, {year}"


def _as_of(args: Arguments) -> str:
    """Return {{as of|2010|5}} as "As of May 2010", or as "as of May 2010" with lc=y."""
    words = "since" if args.get("since") else "as of"
    date = _date(args, day_first=args.get("df") != "US")
    return args.get("alt") or f"{words if args.get('lc') else words.capitalize()} {date}".strip()


def _tables() -> dict[str, Renderer]:
    table: dict[str, Renderer] = {}

    def enter(names: str, show: Renderer) -> None:
        table.update(dict.fromkeys(names.split(), show))

    for place, names in _SHOWN.items():
        enter(names, lambda args, place=place: args[place] if place >= 0 or args.listed else "")  # type: ignore[misc]
    for text, names in _FIXED.items():
        enter(names, lambda _, text=text: text)  # type: ignore[misc]
    for text, names in _BEFORE.items():
        enter(names, lambda args, text=text: text + args[0] if args[0] else "")  # type: ignore[misc]
    for text, names in _JOINED.items():
        enter(names, lambda args, text=text: text.join(filter(None, map(str.strip, args.listed))))  # type: ignore[misc]
    for text, names in {"fl. ": "floruit fl. fl", "r. ": "reign r."}.items():
        enter(names, lambda args, text=text: text + "–".join(filter(None, args.listed[:2])))  # type: ignore[misc]
    enter(
        "quote quotation bquote blockquote cquote quote-box quotebox poemquote poem-quote rquote block-quote",
        lambda args: args.get("text") or args.get("quote") or args[0],
    )
    enter("sup", lambda args: superscript(args[0]))
    enter("e esp", lambda args: "×10" + superscript(args[0]))
    enter("10^", lambda args: "10" + superscript(args[0]))
    enter("chem", lambda args: "".join(superscript(part) if _CHARGE.fullmatch(part) else part for part in args.listed))
    enter("convert cvt", _convert)
    enter("val", _value)
    enter("frac sfrac fraction", _fraction)
    enter("as-of", _as_of)
    enter(
        "start-date birth-date death-date end-date start-date-and-age birth-date-and-age death-date-and-age date dts "
        "birth-year-and-age end-date-and-age film-date dob bda",
        lambda args: _date(args, day_first=args.get("df").lower() in ("y", "yes", "true", "1")),
    )
    enter("oldstyledate old-style-date", lambda args: f"{args[0]} {args[1]}")
    enter("langx", lambda args: args[1] or args.get("text"))
    enter("nihongo", _nihongo)
    enter("zh lang-zh", lambda args: next(filter(None, map(args.get, "cst")), args[0]))
    enter("ill interlanguage-link interlanguage-link-multi illm", _interlanguage)
    enter("circa c. ca. ca", lambda args: " – ".join(f"c. {part}" for part in args.listed[:2] if part) or "c. ")
    return table


_RENDERERS = _tables()
