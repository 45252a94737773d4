"""Templates of numbers and units as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from factoid.entities.wikitext.formulas import superscript

_NUMBER = re.compile(r"[-+−]?[\d.,]+(?:[ +]?\d*[/⁄]+\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_BETWEEN = {
    "to": " to ", "-": "–", "–": "–", "and": " and ", "or": " or ", "x": " × ", "×": " × ", "by": " by ", "+/-": " ± ",
    "±": " ± ", "to(-)": " to ", "to about": " to about ", "and(-)": " and ", "*": " × ", "xx": " × ",
}  # fmt: skip
# Units as they are written after one and after several; the others are written as they are given.
_UNITS = {
    "mi": ("mile", "miles"), "ft": ("foot", "feet"), "foot": ("foot", "feet"), "in": ("inch", "inches"),
    "yd": ("yard", "yards"), "nmi": ("nautical mile", "nautical miles"), "acre": ("acre", "acres"),
    "sqmi": ("square mile", "square miles"), "sqkm": ("km²", "km²"), "km2": ("km²", "km²"), "m2": ("m²", "m²"),
    "sqm": ("m²", "m²"), "sqft": ("square foot", "square feet"), "cm2": ("cm²", "cm²"), "mm2": ("mm²", "mm²"),
    "m3": ("m³", "m³"), "km3": ("km³", "km³"), "cm3": ("cm³", "cm³"), "cuft": ("cubic foot", "cubic feet"),
    "cumi": ("cubic mile", "cubic miles"), "c": ("°C", "°C"), "f": ("°F", "°F"), "k": ("K", "K"), "impgal": ("gallon", "gallons"),
    "usgal": ("US gallon", "US gallons"), "oilbbl": ("barrel", "barrels"), "oilbbl/d": ("barrel per day", "barrels per day"),
    "lk": ("", ""), "st": ("stone", "stone"), "shton": ("short ton", "short tons"), "lt": ("long ton", "long tons"),
    "ozt": ("troy ounce", "troy ounces"), "pd/sqmi": ("per square mile", "per square mile"),
    "pd/sqkm": ("per km²", "per km²"), "pd/km2": ("per km²", "per km²"), "kn": ("knot", "knots"), "kph": ("km/h", "km/h"),
}  # fmt: skip
_WITH_SMALLER = {"ft": "in", "foot": "in", "lb": "oz", "st": "lb", "mi": "yd", "yd": "ft", "hr": "min"}
GAP = "\ue000"  # private use: becomes a space after a digit, and nothing elsewhere (see `tidy`)


def convert(listed: Sequence[str], named: Mapping[str, str]) -> str:
    """Return {{convert|12|km|mi}} as "12 km": what was measured, without what it is in other units."""
    parts = [part.strip() for part in listed]
    if len(parts) < 2:
        return parts[0] if parts else ""
    number, at = _grouped(parts[0]), 1
    while at + 1 < len(parts) and parts[at].lower() in _BETWEEN and _NUMBER.fullmatch(parts[at + 1]):
        number += _BETWEEN[parts[at].lower()] + _grouped(parts[at + 1])
        at += 2
    unit = parts[at] if at < len(parts) else ""
    adjective = named.get("adj", "").strip() in ("on", "mid")
    shown = _with_unit(number, unit, adjective=adjective)
    smaller = parts[at + 1 : at + 3]
    if len(smaller) == 2 and _WITH_SMALLER.get(unit.lower()) == smaller[1].lower() and _NUMBER.fullmatch(smaller[0]):
        shown += " " + _with_unit(smaller[0], smaller[1], adjective=adjective)
    return shown


def _grouped(number: str) -> str:
    return f"{int(number):,}" if number.isdecimal() and len(number) > 3 else number


def _with_unit(number: str, unit: str, *, adjective: bool) -> str:
    singular, plural = _UNITS.get(unit.lower(), (unit, unit))
    if adjective and singular != plural:
        return f"{number}-{singular}"
    return f"{number} {singular if number in ('1', '-1') else plural}".strip()


def value(listed: Sequence[str], named: Mapping[str, str]) -> str:
    """Return {{val|6.24|e=18|u=m}} as "6.24×10¹⁸ m", and {{val|1|0.2}} as "1±0.2"."""
    parts = [part.strip() for part in listed]
    if not parts:
        return ""
    number = parts[0]
    if len(parts) > 1 and parts[1]:
        number += parts[1] if parts[1].startswith("(") else f"±{parts[1]}"
    if exponent := named.get("e", "").strip():
        number += "×10" + superscript(exponent)
    unit = (named.get("u") or named.get("ul") or "").strip()
    return f"{number} {unit}".strip()


def fraction(listed: Sequence[str]) -> str:
    """Return {{frac|2}} as "1/2", {{frac|3|4}} as "3/4" and {{frac|1|3|4}} as "1 3/4"."""
    parts = [part.strip() for part in listed if part.strip()]
    if len(parts) < 2:
        return f"{GAP}1/{parts[0]}" if parts else ""
    if len(parts) == 2:
        return f"{GAP}{parts[0]}/{parts[1]}"
    return f"{parts[0]} {parts[1]}/{parts[2]}"


def height(named: Mapping[str, str]) -> str:
    """Return {{height|ft=5|in=11}} as "5 ft 11 in"."""
    return " ".join(f"{named[unit].strip()} {unit}" for unit in ("m", "cm", "ft", "in") if named.get(unit, "").strip())
