"""The "it" that stands for nothing: "it is known that …", "it takes an hour to …", "it rains"."""

from __future__ import annotations

from factoid.propositions.syntax.tree import PROPER, Tree

# "It is said that", "it has been argued that": what is said follows.
_SAID = frozenset(
    "accepted acknowledged advised agreed alleged announced argued assumed believed claimed conceded concluded confirmed "
    "conjectured considered debated decided decreed demonstrated determined discovered established estimated expected "
    "explained feared felt forbidden found generally held hoped hypothesised hypothesized implied intended known mentioned "
    "noted objected observed ordered planned pointed possible predicted presumed proposed proved proven recognised recognized "
    "recommended rejected remembered reported required revealed rumoured said seen shown speculated stated stipulated stressed "
    "suggested supposed suspected theorised theorized thought understood unknown verified written".split()
)
_WISHED = frozenset(
    "advised agreed decided forbidden intended ordered planned possible proposed recommended suggested".split()
)
# "It is easy to clean" may be either; "it is able to", "it is ready to" is someone or something. And "it is time to".
_EASY = frozenset(
    "acceptable advisable allowed appropriate best better common compulsory conceivable convenient crucial customary dangerous "
    "desirable difficult easier easiest easy enough essential fair forbidden good hard harder helpful illegal imperative "
    "important impossible inappropriate legal mandatory necessary normal obligatory permitted plausible possible practical "
    "preferable prohibited proper prudent rare reasonable recommended right safe safer sensible sufficient tempting typical "
    "unlawful unnecessary unusual useful usual vital wise worthwhile wrong "
    "advantage aim case chance custom duty fact goal habit honour honor idea job matter mistake mystery obligation pity "
    "pleasure policy practice principle priority problem question reason requirement responsibility right rule shame task time "
    "tradition up way wonder".split()
)
_SEEM = frozenset(
    "seem seems seemed appear appears appeared happen happens happened turn turns turned follow follows followed".split()
)
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
    if predicate in _SEEM:
        return not next_words.isdisjoint(("that", "as", "out", "from"))
    if predicate in ("take", "takes", "took", "taken"):
        return "to" in later
    if predicate in _SAID:
        subjects = (token for token in range(index + 1, len(tree.words)) if tree.deps[token] in ("nsubj", "nsubj:pass"))
        clause = any(tree.heads[token] != head for token in subjects)
        return clause or not _CONTENT.isdisjoint(follows[:8]) or (predicate in _WISHED and "to" in later)
    if predicate in ("mean", "means", "meant", "make", "makes", "made"):
        return follows[0] == "that" or not next_words.isdisjoint(("possible", "easy", "easier", "difficult", "clear"))
    if all(tree.lower[token] not in _BE for token in (*tree.auxiliaries(head), head)):
        return False
    if not {"not", "only"}.isdisjoint(words[:3]) and not {"until", "when", "after", "that", "because"}.isdisjoint(
        words
    ):
        return True  # "It was not until 1965 that …"
    if predicate in _EASY:
        return not later.isdisjoint(("to", "that", "if", "for", "whether", "how"))
    if tree.tags[head].startswith("JJ") and not later.isdisjoint(("that", "whether", "how", "why", "what")):
        return True
    if tree.tags[head] in PROPER or tree.deps[head] == "advmod":
        return not next_words.isdisjoint(("who", "that", "which"))  # "It was Kublai who …"
    return words[:1] == ["is"] and "up" in words[1:3]
