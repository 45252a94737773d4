"""Templates of dates as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def _month(written: str) -> str:
    return _MONTHS[int(written) - 1] if written.isdecimal() and 1 <= int(written) <= 12 else written


def written_date(year: str, month: str, day: str, *, day_first: bool) -> str:
    """Return a date as English text: "24 February 1993" or "February 24, 1993"; month and day may be ""."""
    month = _month(month)
    day = day.lstrip("0")
    if not month:
        return year
    if not day:
        return f"{month} {year}"
    return f"{day} {month} {year}" if day_first else f"{month} {day}, {year}"


def date_of_template(listed: Sequence[str], named: Mapping[str, str]) -> str:
    """Return {{start date|1993|2|24}} and its kin as text: their first three arguments are year, month and day."""
    parts = [part.strip() for part in listed[:3]] + [""] * 3
    if not parts[0].isdecimal():  # {{start-date|July 16, 1969}}
        return parts[0]
    day_first = named.get("df", "").strip().lower() in ("y", "yes", "true", "1")
    return written_date(parts[0], parts[1], parts[2], day_first=day_first)


def as_of(listed: Sequence[str], named: Mapping[str, str]) -> str:
    """Return {{as of|2010|5}} as text: "As of May 2010", or "as of May 2010" with lc=y."""
    if shown := named.get("alt"):
        return shown
    year, month, day, *_ = [part.strip() for part in listed[:3]] + [""] * 3
    words = "since" if named.get("since") else "as of"
    if not named.get("lc"):
        words = words.capitalize()
    return f"{words} {written_date(year, month, day, day_first=named.get('df', 'y') != 'US')}".strip()
