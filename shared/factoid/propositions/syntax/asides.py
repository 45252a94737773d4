"""Turn asides into statements: relative clauses, participles and appositions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from factoid.propositions.syntax.headings import THINGS, entity_kind
from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.phrases import agrees, copula, determiner, is_set_off, repeatable
from factoid.propositions.syntax.tree import NOUN, PROPER, VERB, Item, Tree, tokens

_RELATIVES = frozenset("who which that whom whose where".split())
ASIDES = frozenset({"appos", "acl", "acl:relcl"})  # of nouns
_CONDITIONS = frozenset("if when whenever once unless after before while until".split())
_HEDGES = frozenset("usually often sometimes typically generally mostly normally".split())
_NEGATIONS = frozenset("not n't n’t never no neither hardly".split())
# "X is a name given to …" says nothing without the clause.
_GENERIC = frozenset(
    "name term word process method way part type kind form place thing one group set number "
    "state".split()
)
# "The most common case is a residue that …": the subject has no such property.
_CASES = frozenset(
    "case example exception problem difference result reason solution option alternative way "
    "method approach goal aim first second latter former other one".split()
)
_POINTERS = frozenset({"it", "there", "this", "that"})
_LEADS = frozenset({"thanks", "see", "eg", "ie", "aka"})  # to what is no description
_NOMINAL = (
    "NN",
    "DT",
    "PRP$",
    "JJ",
    "CD",
    "POS",
    "VBN",
    "VBG",
)  # beginnings of tags, at the beginning of a description
_ITEMS = ("DT", "NN", "JJ", "PRP$", "CD")  # beginnings of tags, at the beginning of the next item
_LOCAL = frozenset(
    "in at within during since until throughout near inside outside".split()
)  # not before people


_BARE = frozenset({"det", "punct", "appos", "case", "cop"})  # relations of no description
_ORDINALS = frozenset("second third fourth fifth next another other same".split())
_BEFORE_ROLES = frozenset({"by", "of", "to", "from", "'s"})
_NEXT = frozenset("followed preceded accompanied joined coupled combined along".split())
# What leads to examples, of which the last words of a list may be one.
_INTRODUCTIONS = frozenset("including includes include e.g. eg namely especially like".split())
_QUANTITIES = frozenset("all what whatever everything anything nothing most least".split())


class Statement(NamedTuple):
    """A statement about a noun or a subject."""

    subject: Sequence[Item] = ()  # put before the subtree
    swap: Mapping[int, list[Item]] = MappingProxyType({})  # tokens of the subtree to replace
    items: Sequence[Item] = ()  # the whole statement, if the subtree also stays in its sentence


def describe(
    tree: Tree, head: int, noun: int, child: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """Return the statement that a dependent of a noun makes about it, or None.

    The dependent is `child`; the noun is in the clause of `head`.

    The subtrees of `cut` were removed from the clause; its subject is given if it is not among its
    own tokens.
    """
    if tree.deps[child] == "appos":
        return _apposition(tree, head, noun, child, cut, subject)
    relative = tree.deps[child] == "acl:relcl"
    if _is_unclear(tree, head, noun, child) or _leaves_bracket(tree, child):
        return None
    if not relative and tree.tags[child] != "VBN":
        return None
    # What is true of the predicate of "X is a …" is true of X.
    subject_head = tree.subjects[head]
    predicate = _is_predicate(tree, head, noun)
    antecedent: Sequence[Item] = ()
    if is_set_off(tree, child) and (relative or not predicate):
        if _is_identified(tree, noun):
            phrase = repeatable(tree, noun, {*cut, child})
            last = phrase[-1] if phrase else -1
            is_of_adjective = last != noun and isinstance(last, int) and tree.tags[last] == "JJ"
            if is_of_adjective:
                return None  # "It makes the part optional (not required)"
            if phrase and phrase[-1] in range(child):  # not "X, who won, and Y"
                antecedent = phrase
    elif predicate and _has_noun_between(tree, noun, child):
        return None  # "is a cache for data (such as names) that is loaded": what is loaded?
    elif predicate and tree.lower[noun] not in _GENERIC:
        if subject_head is not None and tree.lower[subject_head] in _QUANTITIES | _GENERIC:
            return None  # "All that we need is a file that lists the names"
        antecedent = subject
        if not subject and subject_head is not None:
            antecedent = repeatable(tree, subject_head, cut)
    if not antecedent:
        return None
    if (
        relative
        and predicate
        and subject_head is not None
        and not agrees(tree, subject_head, child)
    ):
        return None  # "The signs are a light that flashes"
    if is_set_off(tree, child) and _may_mean_more(tree, head, noun, child):
        return None
    if relative:
        if predicate and tree.child(child, "nmod:poss") is None and _has_whose(tree, child):
            return None  # "A vector is a list whose last part is left out"
        return _relative(tree, head, noun, child, list(antecedent))
    if not _is_participle(tree, head, noun, child):
        return None
    described = subject_head if predicate else noun
    return Statement([*antecedent, copula(tree, head, described)])


def _has_noun_between(tree: Tree, noun: int, child: int) -> bool:
    """Return whether a clause stands behind another noun, of the same number, or a bracket."""
    between = range(noun + 1, tree.subtree(child)[0])
    if tree.has_word(between, ("(",)):
        return True
    for token in between:
        if tree.tags[token] in NOUN and tree.is_plural(token) == tree.is_plural(noun):
            return True
    return False


def _is_participle(tree: Tree, head: int, noun: int, child: int) -> bool:
    """Return whether a phrase is surely a participle of this noun, and says enough for a fact."""
    if tree.lower[child] in _NEXT and is_set_off(tree, child):
        return False  # "A is the first, followed by B"
    words = [token for token in tree.subtree(child) if tree.is_word(token)]
    start = tree.subtree(noun)[0]
    is_aside_itself = start > 0 and tree.words[start - 1] == ","
    if len(words) < 2 or is_aside_itself or tree.lower[child] in ("given", "provided"):
        return False  # "(recommended)", "…, in the language, associated with …"
    if len(tree.subtree(child)) < 3 or tree.lower[noun] in _GENERIC:
        # Too little for a fact; more often a past tense that was tagged as a participle.
        return False
    leading = range(_first_word(tree, child), child)
    if not all(tree.tags[token] == "RB" for token in leading):
        return False  # "(as defined in …)"
    is_inner = tree.deps[noun] == "nmod" or head not in (noun, tree.heads[noun])
    is_subject = noun == tree.subjects[head] or tree.tags[noun] == "NNP"
    # "The rows follow the named ones, sorted by size": which of them are sorted?
    is_inner |= not is_subject and tree.words[_first_word(tree, child) - 1] == ","
    unclear = is_set_off(tree, child) and (is_inner or not _is_beside(tree, noun, child))
    # Otherwise another noun may be meant.
    in_brackets = tree.words[child - 1] == "(" and tree.tags[child - 2] not in ("NNS", "NN")
    return not unclear or in_brackets or (tree.words[child - 1] == "(" and child - 2 == noun)


def _relative(
    tree: Tree, head: int, noun: int, verb: int, antecedent: list[Item]
) -> Statement | None:
    """State "X, who won, …" and "X is a river that flows …" as "X won" and "X flows …"."""
    clause = tree.subtree(verb)
    pronouns = [token for token in clause if tree.lower[token] in _RELATIVES]
    if not pronouns or pronouns[0] > verb or not tree.is_clause(verb):
        return None
    pronoun = pronouns[0]
    word = tree.lower[pronoun]
    for other in tree.all(verb, "conj"):
        if tree.has_word(tree.children[other], _RELATIVES):
            return None  # "a plant that is green and that is eaten"
    if (
        word in ("who", "which", "that")
        and tree.child(pronoun, "case") is None
        and not _precedes_verb(tree, pronoun)
    ):
        return None  # "which anyone can take": its object
    if is_set_off(tree, verb):
        if word in ("who", "which", "that") and not agrees(tree, noun, verb):
            return None
        between = range(noun + 1, clause[0] - (tree.deps[clause[0]] != "punct"))
        named = all(
            tree.heads[token] == noun and tree.deps[token] in ("flat", "punct") for token in between
        )
        case = tree.child(noun, "case")
        is_inner = head not in (noun, tree.heads[noun])
        is_inner |= case is not None and tree.lower[case] in _LOCAL | {"to"}
        if word in ("which", "that") and (is_inner or not _is_surely(tree, noun, verb)):
            return None  # "X is shared in public, which is done by …": the clause may be meant
        if (word == "which" and not named) or not _is_meant(tree, word, noun, antecedent):
            return None  # "transit to the Moon, which …": either noun may be meant
    elif word == "where":
        return None
    if word == "whose" and _has_inner_noun(tree, noun, verb):
        return None  # "our worry about the users of phones, whose batteries …"
    last = antecedent[-1]
    if word == "whose" and isinstance(last, int) and tree.deps[last] == "punct":
        return None  # "Norway, as well as Sweden, whose king …"
    if is_set_off(tree, verb) and _ends_loosely(tree, clause):
        return None
    is_with_preposition = tree.child(pronoun, "case") is not None
    if is_with_preposition and _is_predicate(tree, head, noun):
        return None  # "X is a base on which we build" says more than "X is a base"
    if tree.lower[noun] in LEXICON["periods"]:
        return None  # "for seven years, which offer": what is told before may be meant
    if word == "where" and _is_formula(tree, tokens(antecedent)):
        return None
    if (
        tree.deps[pronoun] in ("obj", "obl")
        and word not in ("where", "whose")
        and tree.child(pronoun, "case") is None
    ):
        return None  # an object or a stranded preposition: the words would come in the wrong order
    written = antecedent
    if word == "where":
        written = ["in", *antecedent]
    elif word == "whose":
        written = [*antecedent, "'s"]
    return Statement(swap={pronoun: written})


def _is_surely(tree: Tree, noun: int, verb: int) -> bool:
    """Return whether "which" means a noun, and not all that was said before.

    It means the noun if this is a name, or a plural with the verb of one.
    """
    if tree.lower[verb] in ("means", "mean", "meant"):
        return False
    if tree.deps[noun] in ("nmod", "obl:agent"):
        return False  # "the monitor of X, which …": either may be meant
    if tree.tags[noun] in PROPER:
        return determiner(tree, noun) not in ("a", "an") and "`" not in tree.words[noun]
    finite = tree.finite(verb)
    return tree.is_plural(noun) and (tree.tags[finite] == "VBP" or tree.lower[finite] == "were")


def _is_formula(tree: Tree, phrase: Collection[int]) -> bool:
    """Return whether a phrase holds code, a number or "its own …", of which "where" says a part."""
    for token in phrase:
        has_sign = "`" in tree.words[token] or any(map(str.isdigit, tree.words[token]))
        if has_sign or tree.tags[token] == "PRP$":
            return True
    return False


def _is_closed(tree: Tree, end: int) -> bool:
    """Return whether a bracket closes before a token, or at it."""
    return ")" in tree.words[end - 1 : end + 1]


def _is_predicate(tree: Tree, head: int, noun: int) -> bool:
    """Return whether a noun is the predicate of "X is a …", so that X has what it has."""
    is_one = tree.child(noun, "cop") is not None and determiner(tree, noun) in ("a", "an")
    if noun != head or not is_one or tree.child(noun, "case") is not None:
        return False  # "is to a member who …"
    if _is_negated(tree, noun) or tree.has_word(tree.children[noun], _HEDGES):
        return False  # "is no law that …", "is usually a lamp that …"
    for other in tree.all(noun, "conj"):
        if tree.has_word(tree.all(other, "cc"), ("or",)):
            return False  # "is a list or a map that …"
    subject = tree.subjects[head]
    if subject is None:
        return True
    is_thing = tree.tags[subject] in NOUN or tree.tags[subject] in ("PRP", "CD", "VBG")
    return is_thing and tree.lower[subject] not in _CASES | _POINTERS


def _is_unclear(tree: Tree, head: int, noun: int, child: int) -> bool:
    """Return whether it is not known where an aside ends, or which noun it describes."""
    end = tree.subtree(child)[-1] + 1
    ends_openly = end <= head and tree.is_word(end - 1) and tree.is_word(end)
    if ends_openly and is_set_off(tree, child):
        return True  # "The log, which is a list of events received, …" has to end with a mark
    first = min(tree.all(noun, "acl", "acl:relcl"), default=child)
    # "a tablet that keeps track of ids issued so far"
    return first < child and tree.child(child, "cc") is None


def _ends_loosely(tree: Tree, clause: Sequence[int]) -> bool:
    """Return whether an aside ends with a phrase behind a comma, which may belong to the sentence.

    It may in "You get the key, which opens the door, after lunch".
    """
    commas = [token for token in clause[1:-1] if tree.words[token] == ","]
    return bool(commas) and tree.tags[commas[-1] + 1] in ("IN", "TO")


def _leaves_bracket(tree: Tree, child: int) -> bool:
    """Return whether words behind a bracket were read as part of the clause in it."""
    phrase = tree.subtree(child)
    opening = tree.words[max(0, phrase[0] - 1) : phrase[0] + 1]
    closing = [token for token in phrase if tree.words[token] == ")"]
    if "(" not in opening or not closing:
        return False
    return any(tree.is_word(token) for token in phrase if token > closing[0])


def _may_mean_more(tree: Tree, head: int, noun: int, child: int) -> bool:
    """Return whether an aside may belong to more than its noun."""
    if child > head and not {"if", "unless"}.isdisjoint(tree.lower[:head]):
        return True  # "If it works, you come to the page, where …"
    end = tree.subtree(child)[-1] + 1
    is_last = not any(map(tree.is_word, range(end, len(tree.words))))
    subject = tree.subjects[head]
    is_subject = noun == head or (subject is not None and noun in tree.subtree(subject))
    # "runs from Oslo, which is …, to Bergen"
    return not is_last and not is_subject and not _is_closed(tree, end)


def _has_whose(tree: Tree, verb: int) -> bool:
    return tree.has_word(tree.subtree(verb), ("whose",))


def _precedes_verb(tree: Tree, pronoun: int) -> bool:
    """Return whether a verb follows a pronoun, apart from adverbs."""
    for tag in [*tree.tags[pronoun + 1 :], tree.tags[pronoun]]:
        if not tag.startswith("RB"):
            return tag in VERB or tag == "MD"
    return False


def _is_negated(tree: Tree, noun: int) -> bool:
    return tree.has_word(tree.children[noun], _NEGATIONS)


def _first_word(tree: Tree, child: int) -> int:
    """Return the first token of a phrase that is no mark."""
    for token in tree.subtree(child):
        if tree.deps[token] != "punct":
            return token
    return child


def _is_beside(tree: Tree, noun: int, child: int) -> bool:
    """Return whether only marks stand between a noun and a phrase."""
    return all(tree.deps[token] == "punct" for token in range(noun + 1, _first_word(tree, child)))


def _is_meant(tree: Tree, word: str, noun: int, antecedent: Sequence[Item]) -> bool:
    """Return whether a relative pronoun surely means a noun.

    "who" does not mean "in May", "at the office" or one of two people.
    """
    if tree.lower[noun] in LEXICON["times"] and len(antecedent) == 1:
        return False
    if word not in ("who", "whom"):
        return True
    case = tree.child(noun, "case")
    if case is not None and tree.lower[case] in _LOCAL:
        return False
    if tree.tags[noun] in PROPER and entity_kind(_written(tree, antecedent)) in THINGS:
        return False  # "from the Soviet Union, who …"
    if tree.deps[noun] in ("conj", "appos"):
        return False  # "Anna, Bo and Carl, who …": all of them, perhaps
    others = tree.all(noun, "nmod")
    if tree.deps[noun] == "nmod":
        others.append(tree.heads[noun])
    for other in others:
        is_person = tree.lower[other].removesuffix("s") in LEXICON["people"]
        if is_person or tree.tags[other] in PROPER:
            return False
    return True


def _written(tree: Tree, items: Sequence[Item]) -> str:
    """Return the words of a phrase."""
    return " ".join(tree.words[token] for token in items if isinstance(token, int))


def _may_be_apposition(
    tree: Tree, head: int, noun: int, child: int, subject: Sequence[Item]
) -> bool:
    """Return whether a phrase behind a noun may describe it, or name it."""
    if not is_set_off(tree, child) or tree.tags[child] not in NOUN or tree.tags[noun] not in NOUN:
        return False
    if tree.subjects[child] is not None or not tree.tags[_first_word(tree, child)].startswith(
        _NOMINAL
    ):
        return False  # "(formerly, faults were ignored)", "(i.e. the valve)"
    if _is_example(tree, head, child) or _has_role(tree, noun, child):
        return False
    start = tree.subtree(noun)[0]
    is_aside = start > 0 and tree.words[start - 1] == "," and tree.child(noun, "case") is not None
    if is_aside and noun > head:
        return False  # "is, in the end, a question of money"
    words = [tree.words[token] for token in tree.subtree(child)]
    if words[0] == "(" and words[-1] != ")":
        return False
    if words[0] == "(" and len(words) <= 3 and words[1].isupper():
        return False  # "(CMP)" is a short form
    if _is_listed(tree, noun, child) or tree.lower[_first_word(tree, child)] in _LEADS:
        return False
    is_adverbial = tree.child(noun, "case") is not None and tree.deps[noun] == "obl"
    if (
        is_adverbial
        and tree.child(head, "obj", "cop", "aux:pass") is None
        and tree.tags[child] not in PROPER
    ):
        return False  # "grants, during the term, a license": an object
    # "Added the client, X": it is not known when X was one.
    is_untimed = tree.subjects[head] is None and tree.tags[head] in ("VBD", "VBN")
    return bool(subject) or not is_untimed


def _apposition(
    tree: Tree, head: int, noun: int, child: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """State "X, a chemist, …" as "X is a chemist".

    Likewise, "his wife, Anna, …" becomes "Anna is his wife".
    """
    if not _may_be_apposition(tree, head, noun, child, subject):
        return None
    reverse = tree.tags[child] in PROPER  # then the apposition is the name
    name, role = (child, noun) if reverse else (noun, child)
    determined = tree.child(role, "nmod:poss") is not None or determiner(tree, role) in (
        "a",
        "an",
        "the",
    )
    bare_role = (
        tree.tags[role] == "NN"
        and tree.tags[name] in PROPER
        and tree.child(role, "nmod") is not None
    )
    if tree.tags[role] in PROPER or not (determined or bare_role) or not _is_identified(tree, name):
        return None  # "Paris, France" describes nothing
    if _is_no_description(tree, noun, child):
        return None
    if tree.lower[0] in _CONDITIONS and "," not in tree.words[:noun]:
        return None  # "When the lamp is taken from Anna, order a new one": no description
    if tree.is_plural(name) or tree.is_plural(role) or any(map(str.isdigit, tree.words[role])):
        return None  # plural appositions are mostly lists that were parsed as one
    if tree.tags[noun] not in PROPER and _has_inner_noun(tree, noun, child):
        return None  # "the presence of salt, a mineral": either may be meant
    if tree.has_word(tree.children[role], _ORDINALS):
        return None  # "The plan has a third part, Oslo": of what?
    if reverse and tree.has_word(tree.subtree(child), ("and", "or")):
        return None
    if reverse and determiner(tree, noun) in ("a", "an") and tree.child(noun, "case") is not None:
        return None  # "in the case of a device, Ubuntu Server"
    cases = tree.all(noun, "case", "mark")
    if reverse and cases and not tree.has_word(cases, _BEFORE_ROLES):
        return None  # "created, with her approval, the Office of Roads"
    is_bare = all(tree.deps[other] in _BARE for other in tree.children[role])
    if reverse and is_bare and determiner(tree, role) == "the":
        return None  # "the capital, Calcutta": of what?
    if reverse and noun < head and tree.child(noun, "case", "mark") is not None:
        return None  # "After his death, Stalin …": the name is the subject of the next words
    if tree.child(role, "nummod") is not None or (reverse and is_set_off(tree, child, ("(", "["))):
        return None  # "(WHO)" is another name
    subject = repeatable(tree, name, () if reverse else {*cut, child})
    if not subject or (not reverse and max(tokens(subject)) > child):
        return None
    subject.append(copula(tree, head, name))
    if not reverse:
        return Statement(subject)
    description = repeatable(tree, role, {*cut, child})
    if not description:
        return None
    return Statement(items=[*subject, *description])


def _has_inner_noun(tree: Tree, noun: int, child: int) -> bool:
    """Return whether another noun of its phrase stands between a noun and its apposition."""
    return any(noun < inner < child for inner in tree.all(noun, "nmod"))


def _is_example(tree: Tree, head: int, child: int) -> bool:
    """Return whether a phrase may be one of some examples: "towns such as Oslo, a harbour, …"."""
    for token in range(child - 1, -1, -1):
        if tree.is_finite(token) or token == head:
            return False
        before = tree.lower[max(0, token - 1) : token + 1]
        if before in (["for", "example"], ["for", "instance"]) and token == 1:
            return tree.tags[tree.heads[child]] not in PROPER  # "For example, Ada, a nurse, …"
        if before in (["such", "as"], ["for", "example"], ["for", "instance"]):
            return True
        if tree.lower[token] in _INTRODUCTIONS and tree.tags[token] != "VB":
            return True
    return False


def _has_role(tree: Tree, noun: int, child: int) -> bool:
    """Return whether "as" stands before or behind a phrase: "his son, Hugh, as their duke"."""
    phrase = tree.subtree(child)
    around = [*range(noun + 1, _first_word(tree, child)), *phrase]
    around += range(phrase[-1] + 1, min(phrase[-1] + 3, len(tree.words)))
    return tree.has_word(around, ("as",))


def _is_no_description(tree: Tree, noun: int, child: int) -> bool:
    """Return whether an apposition may belong to another noun, or names something else."""
    if tree.deps[noun] == "nmod" and tree.lower[noun - 1] != "'s":
        return True  # "the agreement of Twitter, a promise": either may be meant
    inner = tree.subtree(child)[1:-1]
    commas = [token for token in inner if tree.words[token] == ","]
    if commas and tree.tags[commas[-1] + 1] in ("IN", "TO"):
        return True  # "the tool, a library for files, to the project"
    first = _first_word(tree, child)
    following = tree.lower[first + 1 : first + 2]  # none after the last word: "the firm X, Inc."
    if following == ["same"] or tree.has_word(tree.children[noun], ("same",)):
        return True
    return tree.words[first][0].isdigit()  # "the act, 5 CFR 1320"


def _is_listed(tree: Tree, noun: int, child: int) -> bool:
    """Return whether an apposition is rather the next item of a list."""
    if (
        len(tree.all(noun, "appos")) > 1
        or tree.deps[noun] == "conj"
        or tree.child(noun, "conj") is not None
    ):
        return True
    phrase = tree.subtree(child)
    words = [tree.lower[token] for token in phrase]
    if tree.child(child, "conj") is not None or not {"more", "less"}.isdisjoint(words[:3]):
        return True
    if (
        tree.deps[noun] == "nmod"
        and tree.tags[noun] not in PROPER
        and tree.tags[child] not in PROPER
    ):
        return True
    after = phrase[-1] + (words[-1] != ",")
    following = tree.words[after] if after < len(tree.words) else "."
    if words[0] == "(" or following in (")", ".", "?", "!", ";", ":", "–", "—", "--", "-"):
        return False
    if following != ",":
        return True
    return tree.tags[after + 1 : after + 2] == ["CC"] or tree.tags[
        min(after + 1, len(tree.words) - 1)
    ].startswith(_ITEMS)


def _is_identified(tree: Tree, noun: int) -> bool:
    """Return whether a noun phrase names something that a separate statement can be about.

    "A report" and "ships" name no such thing.
    """
    definite = determiner(tree, noun) in ("the", "this", "that", "these", "those")
    return tree.tags[noun] in PROPER or definite or tree.child(noun, "nmod:poss") is not None
