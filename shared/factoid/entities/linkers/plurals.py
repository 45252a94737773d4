"""English plurals, for names that are known in the singular only."""

from __future__ import annotations

_LEAST = 4  # letters of a plural: "gas" and "bus" are none
_NO_PLURAL = ("ss", "us", "is")
_HISSING = ("sses", "shes", "ches", "xes", "zes")


def singulars(key: str) -> list[str]:
    """Return the keys whose plural a key may be, by its last letters: none unless it ends in a plural's "s".

    >>> singulars("sea otters")
    ['sea otter']
    >>> singulars("duty cycles"), singulars("assemblies"), singulars("switches"), singulars("glass")
    (['duty cycle'], ['assemblie', 'assembly'], ['switche', 'switch'], [])
    """
    last = key.rpartition(" ")[2]
    if len(last) < _LEAST or not last.isalpha() or not last.endswith("s") or last.endswith(_NO_PLURAL):
        return []
    found = [key[:-1]]
    if last.endswith("ies"):
        found.append(key[:-3] + "y")
    elif last.endswith(_HISSING):
        found.append(key[:-2])
    return found
