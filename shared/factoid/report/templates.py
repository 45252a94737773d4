"""Templates of pages that hold their own style and script, and let nothing else run."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from factoid._optional import require

_FOLDER = Path(__file__).parent


def environment() -> Any:
    """Return Jinja's environment for the templates of this folder.

    All values are escaped, and an unknown one is an error.

    Raises:
        MissingDependencyError: Jinja is not installed.
    """
    jinja = require("jinja2", extra="report")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.1f}"
    environment.filters["points"] = _points
    return environment


def _points(share: float) -> str:
    """Return a difference of shares in points, with its sign."""
    points = round(100 * share, 1)
    if not points:
        return "0.0"
    return f"{points:+.1f}".replace("-", "−")


def as_html(text: str) -> Any:
    """Mark a text as HTML that was escaped already."""
    return require("markupsafe", extra="report").Markup(text)


def own_parts(*, styles: tuple[str, ...], script: str) -> dict[str, Any]:
    """Return the style and the script of a page, with the hashes by which its policy allows them.

    Args:
        styles: Files of this folder, which are joined.
        script: A file of this folder.
    """
    style = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in styles)
    content = (_FOLDER / script).read_text(encoding="utf-8")
    return {
        "style": as_html(style),
        "script": as_html(content),
        "style_hash": _hash(style),
        "script_hash": _hash(content),
    }


def _hash(text: str) -> str:
    """Return the hash by which a policy allows an element with this text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
