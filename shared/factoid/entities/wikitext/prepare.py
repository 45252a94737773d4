"""The quick first pass over a whole page: comments, notes, formulas and HTML tags go; templates and links stay."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from factoid._optional import require

# Elements whose content is not part of the text.
_DROPPED = (
    "ref references gallery timeline imagemap score graph mapframe maplink templatedata templatestyles syntaxhighlight "
    "source pre includeonly hiero table del s strike inputbox categorytree indicator style script"
).split()
_FORMULAS = ("math", "chem", "ce")
_SHOWN = (*_FORMULAS, "nowiki")
_ELEMENTS = (*_DROPPED, *_SHOWN)
_OPENING = re.compile(rf"<!--|<({'|'.join(_ELEMENTS)})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_CLOSINGS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _ELEMENTS} | {"": re.compile("-->")}
_SMALL = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_POWER = re.compile(r"\^(\d+[+−-](?!\w)|[+−-]?\d+|[+−-](?!\w)|n\b)")
# Characters of LaTeX. A longer formula has a line of its own, and the text around it reads without it.
_LONGEST_FORMULA = 120
# What pylatexenc does not know: commands that stand for themselves, and those that show nothing.
_COMMANDS = {
    "ne": "≠", "land": "∧", "lor": "∨", "neg": "¬", "triangle": "△", "gcd": "gcd", "bmod": "mod ", "pmod": "mod ",
    "R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ",
}  # fmt: skip
_COMMANDS |= dict.fromkeys(
    "left right big Big bigl bigr boldsymbol operatorname rm textstyle displaystyle scriptstyle ce limits".split(), ""
)
_SIMPLE = re.compile(r"[\w.,]*")
_UNKNOWN = "\ue002"  # private use: stands for any other command
_RAISABLE = re.compile(r"[0-9+\-−]+|n")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|o|a|TM|SM", re.IGNORECASE)
_RAISED = re.compile(r"<(sup|sub)\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?([a-z][a-z0-9-]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_NEW_LINE = frozenset("blockquote center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem tr ul".split())
# Private use: marks where an element on its own line begins or ends; a line end could break a link or template.
BREAK = "\ue001"
_SWITCH = re.compile(r"__[^\W\d_]+__")  # __NOTOC__, in the wiki's language
_MARKUP = re.compile(r"[]\[{}|'<>&=*#:;_~]")


def prepare(wikitext: str) -> str:
    """Return a page's wikitext without comments, notes, tags, and content for pictures or programs."""
    text = _without_elements(wikitext)
    if "<" in text:
        text = _RAISED.sub(lambda tag: superscript(tag[2]) if tag[1].lower() == "sup" else tag[2].strip(), text)
        text = _TAG.sub(lambda tag: BREAK if tag[1].lower() in _NEW_LINE else " " * (tag[1].lower() == "br"), text)
        text = text.replace("<", "&#60;")  # not a tag, but the parser would look for its end
    return _SWITCH.sub("", text) if "__" in text else text


def superscript(text: str) -> str:
    """Return raised text in its form for plain text: "²" for "2" (as in "10²"), "st" for "st" (as in "21st")."""
    text = text.strip()
    if text.startswith("["):  # the mark of a note
        return ""
    if _RAISABLE.fullmatch(text):
        return text.translate(_SMALL)
    return text if not text or _ORDINAL.fullmatch(text) else f"^{text}"


def _formula(latex: str) -> str:
    r"""Return a formula as it reads in a line, "\frac{\pi}{2} x^2" as "π/2 x²"; "" for a long one, and for one not understood."""
    if len(latex) > _LONGEST_FORMULA or "\\sqrt[" in latex:
        return ""
    if "\\" in latex or "{" in latex:
        reader, error = _latex_reader()
        try:
            latex = reader.latex_to_text(re.sub(r"\\[dt]frac(?![a-z])", r"\\frac", latex), tolerant_parsing=False)
        except error:
            return ""
    text = "" if _UNKNOWN in latex else " ".join(latex.split())
    return _POWER.sub(lambda power: superscript(power[1]), text)


def _fraction(node: Any, l2tobj: Any) -> str:  # a name that pylatexenc looks for
    parts = (l2tobj.nodelist_to_text([argument]).strip() for argument in node.nodeargd.argnlist)
    return "/".join(part if _SIMPLE.fullmatch(part) else f"({part})" for part in parts)


@lru_cache
def _latex_reader() -> tuple[Any, type[Exception]]:
    latex2text = require("pylatexenc.latex2text", extra="wikipedia")
    commands = latex2text.get_default_latex_context_db()
    macros = [latex2text.MacroTextSpec(name, shown) for name, shown in _COMMANDS.items()]
    macros.append(latex2text.MacroTextSpec("frac", _fraction))
    commands.add_context_category("wikipedia", macros=macros, prepend=True)
    commands.set_unknown_macro_spec(latex2text.MacroTextSpec("", _UNKNOWN))
    commands.set_unknown_environment_spec(latex2text.EnvironmentTextSpec("", _UNKNOWN))
    options = {"math_mode": "text", "strict_latex_spaces": "based-on-source"}
    error = require("pylatexenc.latexwalker", extra="wikipedia").LatexWalkerError
    return latex2text.LatexNodes2Text(**options, latex_context=commands), error


def _without_elements(wikitext: str) -> str:
    """Drop or replace comments and the elements in which wikitext means something else."""
    parts: list[str] = []
    at = 0
    unclosed: set[str] = set()  # each is searched for only once, so that damaged pages take no longer than others
    while opening := _OPENING.search(wikitext, at):
        parts.append(wikitext[at : opening.start()])
        at = opening.end()
        name = (opening[1] or "").lower()
        if opening[0].endswith("/>") or name in unclosed:
            continue
        closing = _CLOSINGS[name].search(wikitext, at)
        if closing:
            content = wikitext[at : closing.start()]
            at = closing.end()
            if name in _FORMULAS:
                content = _formula(content)
            if name in _SHOWN:
                parts.append(_MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", content))
        elif name:
            unclosed.add(name)
        else:
            at = len(wikitext)
    return "".join(parts) + wikitext[at:]
