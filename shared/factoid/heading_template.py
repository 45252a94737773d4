"""Write a unit's title, section and metadata before its text, as it is encoded and searched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from string import Formatter

from factoid.errors import InvalidInputError
from factoid.units import LONGEST_HEADING, Document, Unit

EMBED_TEMPLATE = "{title} — {section}: {text}"
"""The default template of the text that is encoded for a unit."""

_MARKUP = re.compile(r"\A[\W_]+")  # and whatever punctuation opens a text


def check_template(template: str | None) -> str:
    """Return a checked template for `with_heading`, which must name {text} exactly once.

    None stands for the text alone.
    """
    template = "{text}" if template is None else template
    if not isinstance(template, str) or [name for _, name in _parts(template)].count("text") != 1:
        raise InvalidInputError(
            f"a template must be a string with {{text}} once, as {EMBED_TEMPLATE!r}, got "
            f"{template!r}"
        )
    return template


def with_heading(unit: Unit | Document, template: str = EMBED_TEMPLATE) -> str:
    """Return a unit's text with its title and section before it, as it is encoded.

    The template names the fields {title}, {section}, {text} and keys of the metadata, of whose
    values the first 1,000 characters are written, lists with commas. A title that the section
    begins with is left out, and so is a title or section that the text begins with, and a value
    that one of the three begins with. The characters before an empty field are left out with it,
    and any that would then open the result lose their punctuation.

    Raises:
        InvalidInputError: The template cannot be parsed.
    """
    return placed_text(unit, template)[0]


def placed_text(unit: Unit | Document, template: str = EMBED_TEMPLATE) -> tuple[str, int]:
    """Return what `with_heading` returns, and where the unit's text begins in it."""
    title, section = split_heading(unit)
    heading = {"title": title, "section": section, "text": unit.text}
    result = ""
    start = 0
    for position, (label, name) in enumerate(_parts(template)):
        value = ""
        if name in heading:
            value = heading[name]
        elif name is not None:
            value = _written(name, unit.metadata.get(name))
            if value and any(_begins(text, value) for text in heading.values()):
                value = ""
        if value or name is None:
            if position and not result:
                label = _MARKUP.sub("", label)
            result += label + value
        if name == "text":
            start = len(result) - len(value)
    return result, start


def encoded_text(unit: Unit, template: str = EMBED_TEMPLATE) -> str:
    """Return what is encoded and searched by words of a unit.

    It is what a reader sees of it, with its heading.
    """
    return placed_text(seen_unit(unit), template)[0]


def seen_unit(unit: Unit) -> Unit:
    """Return a unit with what a reader sees as its text."""
    return replace(unit, text=unit.visible) if unit.visible else unit


def with_metadata(template: str, keys: Iterable[str]) -> str:
    """Return a template with values of the metadata before it."""
    return "".join(f"{{{key}}} — " for key in keys) + template


def check_metadata_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """Return checked keys of metadata that are encoded with the text.

    They come in the order in which they are written.

    Raises:
        InvalidInputError: They are no list of keys, or one of them cannot be a field of a template.
    """
    if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
        raise InvalidInputError(
            f'embed_metadata must be a list of keys, such as ["product"], got {keys!r}'
        )
    for key in keys:
        if key in ("title", "section", "text"):
            raise InvalidInputError(f"embed_metadata: {key} is always encoded, leave it out")
        if not key or {"{", "}"} & {*key} or _parts(f"{{{key}}}") != (("", key),):
            raise InvalidInputError(
                f"embed_metadata: the key {key!r} cannot be used: it is empty, or holds braces or "
                "a !"
            )
    return tuple(dict.fromkeys(keys))


def _written(name: str, value: object) -> str:
    try:
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    except (ValueError, RecursionError) as error:  # an integer of more than 4,300 digits
        raise InvalidInputError(
            f"metadata[{name!r}] cannot be a part of the text: {error}"
        ) from error
    if value is None:
        return ""
    return " ".join(text[:LONGEST_HEADING].split())


def split_heading(unit: Unit | Document) -> tuple[str, str]:
    """Return the title and section to put before a unit's text.

    One that the text or the section repeats is "".
    """
    if not unit.title and not unit.section:
        return "", ""
    title = " ".join(unit.title.split())
    section = " ".join(unit.section.split())
    text = _MARKUP.sub("", unit.text)
    if title and section and _begins(section, title):
        title = ""
    if title and _begins(text, title):
        title, text = "", _MARKUP.sub("", text[len(title) :])
    if section and _begins(text, section):
        section = ""
    return title, section


@lru_cache(maxsize=64)
def _parts(template: str) -> tuple[tuple[str, str | None], ...]:
    """Return the fields of a template, each with the text before it; the end has the field None."""
    try:
        return tuple((label, _field(*field)) for label, *field in Formatter().parse(template))
    except ValueError as error:
        raise InvalidInputError(f"{template!r} is not a template: {error}") from error


def _begins(text: str, part: str) -> bool:
    """Return whether a text begins with another as whole words, ignoring case."""
    end = len(part)
    return text[:end].casefold() == part.casefold() and not text[end : end + 1].isalnum()


def _field(name: str | None, suffix: str | None, conversion: str | None) -> str | None:
    """Return the whole name of a field: "dc:title" is a key, and says nothing of a format."""
    if name is None:
        return None
    if conversion:
        name += f"!{conversion}"
    if suffix:
        name += f":{suffix}"
    return name
