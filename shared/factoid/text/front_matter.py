"""Read front matter, the fields that stand before a text.

They are written in YAML between lines of "---" or in TOML between lines of "+++".
"""

from __future__ import annotations

import logging
import re
import tomllib
from typing import Any

_OPENING = re.compile(r"\ufeff?(?P<mark>---|\+\+\+)[ \t]*\r?\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*\r?(?:\n|\Z)", re.MULTILINE),
}
# What a field looks like. A text may begin with a rule ("---") and prose.
_FIELD = {
    "---": re.compile(r"""["']?[^\W_][\w .-]{0,80}["']?[ \t]*:(?=\s|\Z)"""),
    "+++": re.compile(r"""\[{0,2}["']?[\w.-]{1,80}["']?[ \t]*[\]=]"""),
}
_FIELDS_ONLY = re.compile(r"(?:(?:[\w-]+:|[ \t]|- |#).*\n|\r?\n)+")
_SKIPPED = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
)  # blank lines and comments before the first field
_LONGEST = 100_000  # characters; reading YAML takes 5 seconds for each million
_DEEPEST = 200  # collections inside each other

logger = logging.getLogger(__name__)


def front_matter(
    text: str, *, place: str = "", depth: int = _DEEPEST
) -> tuple[dict[str, Any], int]:
    """Return the fields of a text's front matter, and where the rest of the text starts.

    The result is ({}, 0) if the text has none.

    Front matter that cannot be parsed has no fields, and still is not part of the text. Of YAML,
    aliases are not read.

    Args:
        text: The whole text, with or without a byte order mark.
        place: The name of the text for a warning about front matter that cannot be parsed; without
            it, there is none.
        depth: The most collections inside each other.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return {}, 0
    mark = opening["mark"]
    start = opening.end()
    closing = _CLOSING[mark].search(text, start)
    if closing is None:
        return {}, 0
    block = text[start : closing.start()]
    skipped = _SKIPPED.match(block)
    first = skipped.end() if skipped else 0
    if not _FIELD[mark].match(block, first):
        return {}, 0
    try:
        if len(block) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST:,} characters")
        fields = (
            _yaml_fields(block, depth)
            if mark == "---"
            else tomllib.loads(block.replace("\r\n", "\n"))
        )
    except (ValueError, RecursionError) as error:
        if mark == "---" and not _FIELDS_ONLY.fullmatch(block):
            return {}, 0  # prose below a rule, such as "Note: …"
        if place:
            language = "YAML" if mark == "---" else "TOML"
            reason = " ".join(str(error).split())
            logger.warning(
                "%s: its front matter is not %s and gives no metadata: %s", place, language, reason
            )
        return {}, closing.end()
    return {str(name): value for name, value in fields.items()}, closing.end()


def title_of(fields: dict[str, Any]) -> str:
    """Take the title out of the fields of front matter; return "" if there is none."""
    title = fields.pop("title", None)
    return "" if title is None else " ".join(str(title).split())


def _yaml_fields(block: str, depth: int) -> dict[Any, Any]:
    """Return the fields of a block of YAML.

    Raises:
        ValueError: The block is no YAML, or could fill the memory.
    """
    import yaml

    try:
        _check_yaml(block, depth)
        fields = yaml.safe_load(block)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(fields, dict):
        raise ValueError(f"it holds a {type(fields).__name__}, not fields")
    return fields


def _check_yaml(block: str, depth: int) -> None:
    import yaml

    starts = (
        yaml.FlowSequenceStartToken,
        yaml.FlowMappingStartToken,
        yaml.BlockSequenceStartToken,
        yaml.BlockMappingStartToken,
    )
    ends = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)
    level = 0
    for token in yaml.scan(block):
        level += isinstance(token, starts)
        level -= isinstance(token, ends)
        if level > depth:
            raise ValueError(f"its collections are nested more than {depth} deep, the limit depth")
        if isinstance(token, yaml.AliasToken):
            raise ValueError("aliases are not read")  # a few lines of them can fill the memory
