"""Templates of the English Wikipedia that stand for words of a sentence. All others show nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from factoid.entities.wikitext.prepare import superscript

GAP = "\ue000"  # private use: becomes a space after a digit, and nothing elsewhere (see `tidy`)

Arguments = Mapping[str, str]  # by name; those without a name by their number from "1" on
Renderer = Callable[[Arguments], str]

_FIXED = {
    "–": "ndash en-dash endash", "—": "mdash em-dash emdash", " – ": "snd spnd spaced-ndash snds dash spaced-en-dash",
    " — ": "spaced-mdash mdashb", " ": "nbsp spaces space thinsp thin-space hair-space hairsp", "·": "· middot dot",
    "•": "• bull bullet", "|": "! pipe", "=": "=", "'": "' apostrophe", "π": "pi",
}  # fmt: skip
_BEFORE = {
    "US$": "us$ usd", "£": "gbp £", "€": "eur €", "₹": "inr ₹", "¥": "jpy ¥", "√": "sqrt radic", "No. ": "no. numero",
    "HMS ": "hms", "USS ": "uss", "SS ": "ss", "c. ": "circa c. ca. ca", "fl. ": "floruit fl. fl",
}  # fmt: skip
_FUNCTIONS = ("formatnum", "lc", "uc", "ucfirst", "lcfirst")  # of MediaWiki itself

_MONTHS = "_ January February March April May June July August September October November December".split()
_CHARGE = re.compile(r"\d*[+−-]")
_NUMBER = re.compile(r"[-+−]?[\d.,]++")
_BETWEEN = {"-": "–", "–": "–", "x": " × ", "to": " to ", "and": " and ", "or": " or ", "by": " by "}
_UNITS = {
    "sqkm": "km²", "km2": "km²", "m2": "m²", "m3": "m³", "sqmi": "sq mi", "sqft": "sq ft", "c": "°C", "f": "°F",
    "pd/sqmi": "per sq mi", "pd/km2": "per km²",
}  # fmt: skip
_SMALLER = {("ft", "in"), ("lb", "oz"), ("st", "lb")}


def renderer(written: str) -> Renderer | None:
    """Return the renderer for templates of this name, or None if they show nothing."""
    name = "-".join(written.replace("_", " ").lower().split())
    if show := _RENDERERS.get(name):
        return show
    if name.startswith("lang-"):
        return _RENDERERS["nowrap"]
    function, _, argument = written.strip().partition(":")
    return _constant(argument) if function.lower() in _FUNCTIONS and "{" not in argument else None


def _constant(text: str) -> Renderer:
    return lambda _: text


def _prefixed(prefix: str) -> Renderer:
    return lambda args: prefix + args["1"] if args.get("1") else ""


def _numbered(args: Arguments) -> list[str]:
    return [value for name, value in args.items() if name.isdecimal()]


def _joined(separator: str) -> Renderer:
    return lambda args: separator.join(filter(None, map(str.strip, _numbered(args))))


def _nihongo(args: Arguments) -> str:
    english, notes = args.get("1", ""), ", ".join(filter(str.strip, _numbered(args)[1:3]))
    return f"{english} ({notes})" if english and notes else english or notes


def _convert(args: Arguments) -> str:
    """Return {{convert|12|km|mi}} as "12 km": the measured value, without its value in other units."""
    number, *parts = [*map(str.strip, _numbered(args)), ""]
    while len(parts) > 2 and parts[0].lower() in _BETWEEN and _NUMBER.fullmatch(parts[1]):
        number += _BETWEEN[parts[0].lower()] + parts[1]
        del parts[:2]
    unit, smaller, smaller_unit, *_ = [*parts, "", "", ""]
    shown = f"{number} {_UNITS.get(unit.lower(), unit)}"
    return f"{shown} {smaller} {smaller_unit}" if (unit, smaller_unit) in _SMALLER else shown.strip()


def _value(args: Arguments) -> str:
    """Return {{val|6.24|e=18|u=m}} as "6.24×10¹⁸ m"."""
    power = "×10" + superscript(args["e"]) if args.get("e") else ""
    return f"{args.get('1', '')}{power} {args.get('u', args.get('ul', ''))}".strip()


def _fraction(args: Arguments) -> str:
    """Return {{frac|2}} as "1/2", {{frac|3|4}} as "3/4" and {{frac|1|3|4}} as "1 3/4"."""
    match _numbered(args):
        case [whole, above, below]:
            return f"{whole} {above}/{below}"
        case [above, below]:
            return f"{GAP}{above}/{below}"
        case [below]:
            return f"{GAP}1/{below}"
        case _:
            return ""


def _date(args: Arguments) -> str:
    """Return {{start date|1993|2|24}} and its kin as "February 24, 1993", or with df=y as "24 February 1993"."""
    year, month, day = (args.get(name, "").strip() for name in "123")
    if not year.isdecimal() or not month:
        return year  # also {{start date|July 1969}}
    month = _MONTHS[int(month)] if month.isdecimal() and 1 <= int(month) <= 12 else month
    day = day.lstrip("0")
    if not day:
        return f"{month} {year}"
    return f"{day} {month} {year}" if args.get("df", "").lower() in ("y", "yes") else f"{month} {day}, {year}"


def _as_of(args: Arguments) -> str:
    words = "as of" if args.get("lc") else "As of"
    return args.get("alt") or f"{words} {_date({'df': 'y', **args})}".strip()


_GROUPS: dict[str, Renderer] = {
    "nowrap nobr nobold noitalic small smaller big large larger sc smallcaps sub linktext keypress key abbr tooltip "
    "visible-anchor vanchor chem2 mvar math flag flagu flagcountry nts num iast unicode polytonic hebrew nastaliq em strong "
    "code mono var kbd underline center text ipa no-wrap bold nihongo2 nq music ill interlanguage-link": lambda args: (
        args.get("1", "")
    ),
    "lang lang2 langx rtl-lang native-name hover-title sort": lambda args: args.get("2", ""),
    "transl transliteration script resize color font-color": lambda args: (_numbered(args) or [""])[-1],
    "hlist plainlist flatlist ubl unbulleted-list ublist vunblist cslist": _joined(", "),
    "sic sortname ship": _joined(" "),
    "quote quotation bquote blockquote cquote quote-box": lambda args: args.get(
        "text", args.get("quote", args.get("1", ""))
    ),
    "sup": lambda args: superscript(args.get("1", "")),
    "e esp": lambda args: "×10" + superscript(args.get("1", "")),
    "chem": lambda args: "".join(superscript(part) if _CHARGE.fullmatch(part) else part for part in _numbered(args)),
    "convert cvt": _convert,
    "val": _value,
    "frac sfrac fraction": _fraction,
    "as-of": _as_of,
    "reign": lambda args: "r. " + "–".join(_numbered(args)),
    "oldstyledate": lambda args: f"{args.get('1', '')} {args.get('2', '')}",
    "start-date birth-date death-date end-date start-date-and-age birth-date-and-age death-date-and-age date dts": _date,
    "nihongo": _nihongo,
}
_RENDERERS = {name: show for names, show in _GROUPS.items() for name in names.split()}
_RENDERERS |= {name: _constant(text) for text, names in _FIXED.items() for name in names.split()}
_RENDERERS |= {name: _prefixed(prefix) for prefix, names in _BEFORE.items() for name in names.split()}
