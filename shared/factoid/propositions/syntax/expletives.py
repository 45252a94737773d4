"""The "it" that stands for nothing: "it is known that …", "it takes an hour to …", "it rains"."""

from __future__ import annotations

from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.tree import PROPER, Tree

_WEATHER = frozenset("rain rains rained raining snow snows snowed snowing freezes thunders".split())
_CONTENT = frozenset("that whether if how what why when which who until".split())
_BE = frozenset("is was be been are were 's ’s became becomes".split())


def is_expletive(tree: Tree, index: int) -> bool:
    """Tell whether an "it" that is a subject may stand for nothing: in doubt it does."""
    if tree.lower[index] != "it":
        return False
    head = tree.heads[index]
    predicate = tree.lower[head]
    words = tree.lower[index + 1 :]
    follows = tree.lower[max(index, head) + 1 :]
    next_words, later = set(follows[:4]), set(follows)
    if predicate in _WEATHER or not follows:
        return predicate in _WEATHER
    if predicate in ("become", "becomes", "became") and "that" in next_words:
        return True
    if predicate in LEXICON["seem"]:
        return not next_words.isdisjoint(("that", "as", "out", "from"))
    if predicate in ("take", "takes", "took", "taken"):
        return "to" in later
    if predicate in LEXICON["said"]:
        subjects = (token for token in range(index + 1, len(tree.words)) if tree.deps[token] in ("nsubj", "nsubj:pass"))
        clause = any(tree.heads[token] != head for token in subjects)
        return clause or not _CONTENT.isdisjoint(follows[:8]) or (predicate in LEXICON["wished"] and "to" in later)
    if predicate in ("mean", "means", "meant", "make", "makes", "made"):
        return follows[0] == "that" or not next_words.isdisjoint(("possible", "easy", "easier", "difficult", "clear"))
    if all(tree.lower[token] not in _BE for token in (*tree.auxiliaries(head), head)):
        return False
    if not {"not", "only"}.isdisjoint(words[:3]) and not {"until", "when", "after", "that", "because"}.isdisjoint(
        words
    ):
        return True  # "It was not until 1965 that …"
    if predicate in LEXICON["easy"]:
        return not later.isdisjoint(("to", "that", "if", "for", "whether", "how"))
    if tree.tags[head].startswith("JJ") and not later.isdisjoint(("that", "whether", "how", "why", "what")):
        return True
    if tree.tags[head] in PROPER or tree.deps[head] == "advmod":
        return not next_words.isdisjoint(("who", "that", "which"))  # "It was Kublai who …"
    return words[:1] == ["is"] and "up" in words[1:3]
