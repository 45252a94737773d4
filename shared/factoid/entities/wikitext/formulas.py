"""Formulas as a line of text, where they are short enough to be read as one."""

from __future__ import annotations

import re

_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_RAISABLE = re.compile(r"[0-9+\-−]+|n")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|o|a|TM|SM", re.IGNORECASE)

_COMMANDS = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠",
    "neq": "≠", "approx": "≈", "equiv": "≡", "sim": "~", "propto": "∝", "infty": "∞", "to": "→", "rightarrow": "→",
    "leftarrow": "←", "Rightarrow": "⇒", "leftrightarrow": "↔", "in": "∈", "notin": "∉", "subset": "⊂", "cup": "∪",
    "cap": "∩", "forall": "∀", "exists": "∃", "land": "∧", "lor": "∨", "neg": "¬", "therefore": "∴", "vdash": "⊢",
    "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "ldots": "…", "dots": "…", "cdots": "…",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "hbar": "ħ", "ell": "ℓ", "circ": "°",
    "log": "log", "ln": "ln", "exp": "exp", "sin": "sin", "cos": "cos", "tan": "tan", "min": "min", "max": "max",
    "lim": "lim", "mod": "mod", "gcd": "gcd", "quad": " ", "qquad": " ", ",": " ", ";": " ", ":": " ", " ": " ", "!": "",
    "%": "%", "$": "$", "#": "#", "&": "&", "_": "_", "left": "", "right": "", "big": "", "Big": "", "mathrm": "",
    "mathbf": "", "mathit": "", "mathbb": "", "mathcal": "", "mathsf": "", "boldsymbol": "", "operatorname": "", "rm": "",
    "text": "", "textstyle": "", "displaystyle": "", "scriptstyle": "", "bar": "", "vec": "", "hat": "", "ce": "",
}  # fmt: skip
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_POWER = re.compile(r"\^\s*(?:\{([^{}]*)\}|(\w))")
_SIMPLE = re.compile(r"[\w.,]*|\\[a-zA-Z]+")
_LONGEST = (
    120  # characters of LaTeX; what is longer stands in a line of its own, and the text around it reads without it
)


def superscript(text: str) -> str:
    """Return raised text as it is written in a line: "10" and "2" give "10²", "21" and "st" give "21st"."""
    text = text.strip()
    if text.startswith("["):  # the mark of a note
        return ""
    if _RAISABLE.fullmatch(text):
        return text.translate(_RAISED)
    return text if not text or _ORDINAL.fullmatch(text) else f"^{text}"


def plain_formula(latex: str) -> str:
    r"""Return a formula as text, "x^{2} \le \pi" as "x² ≤ π"; "" if it is too long or too deep for a line."""
    text = " ".join(latex.split())
    if len(text) > _LONGEST:
        return ""
    while match := _FRACTION.search(text) or _ROOT.search(text):
        parts = [part if _SIMPLE.fullmatch(part) else f"({part})" for part in match.groups()]
        shown = "/".join(parts) if len(parts) == 2 else f"√{parts[0]}"
        text = text[: match.start()] + shown + text[match.end() :]
    if any(name not in _COMMANDS for name in _COMMAND.findall(text)):
        return ""
    text = _COMMAND.sub(lambda command: _COMMANDS[command[1]], text)
    text = _POWER.sub(lambda power: superscript(power[1] or power[2] or ""), text)
    return " ".join(re.sub("[{}]", "", text).split())
