"""What pronouns, bare definite descriptions and surnames refer to, where that is safe (Dense X Retrieval, §2: contextualised).

A passage is read sentence by sentence. Subjects of main clauses are remembered, since the subject of the sentence before is
by far the most frequent antecedent of a subject pronoun. Whatever competes with that makes the reference unsafe, and the
words are left as they stand: a wrong name is worse than a pronoun.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from factoid.propositions.syntax.render import Mention
from factoid.propositions.syntax.tree import Tree

_PERSON = {"he": "he", "his": "he", "she": "she", "her": "she"}
_THING = frozenset({"it", "its"})
_MANY = frozenset({"they", "their"})
# "Her mother …": someone else whom the next pronoun may mean.
_RELATIVES = frozenset(
    "mother father parent brother sister sibling husband wife spouse partner son daughter child uncle aunt cousin nephew "
    "niece grandfather grandmother grandson granddaughter friend teacher tutor student pupil colleague assistant mentor "
    "successor predecessor rival employer boss doctor lover fiancé fiancée widow widower heir".split()
)
_POSSESSIVE = "PRP$"
_LONGEST_NAME = 8
_BRACKETS = re.compile(r"\s*\([^)]*\)")
# Titles that name a topic rather than an entity.
_TOPIC = re.compile(
    r"^(?:list|history|outline|timeline|index|comparison|glossary|culture|geography|economy)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that was mentioned."""

    name: str
    plural: bool = False
    proper: bool = False


@dataclass(slots=True)
class Discourse:
    """What has been mentioned so far in a passage.

    Args:
        title: The document's title, or "".
    """

    title: str
    topic: Entity | None = None
    subject: Entity | None = None
    object: bool = False  # the last clause had a singular noun as its object
    company: bool = False  # the last clause named someone besides its subject
    rival: bool = False  # the last subject was someone who cannot be named here
    people: dict[str, Entity] = field(default_factory=dict)  # "he" or "she" → who that was
    kinds: dict[str, Entity] = field(default_factory=dict)  # "city" → what was said to be one

    def __post_init__(self) -> None:
        name = " ".join(_BRACKETS.sub("", self.title).split())
        if name and len(name.split()) <= _LONGEST_NAME and not _TOPIC.match(name):
            self.topic = Entity(name, proper=True)

    def read(self, tree: Tree) -> dict[int, Mention]:
        """Return what the referring expressions of the next sentence stand for, by their first token."""
        mentions: dict[int, Mention] = {}
        clauses = self._clauses(tree)
        for head in clauses:
            for index in tree.subtree(head, set(clauses) - {head}):
                if (
                    found := self._pronoun(tree, index, head)
                    or self._description(tree, index)
                    or self._surname(tree, index)
                ):
                    mentions[index] = found
            self._remember(tree, head, mentions)
        return mentions

    # Referring expressions

    def _pronoun(self, tree: Tree, index: int, head: int) -> Mention | None:
        word = tree.words[index].lower()
        if word not in _PERSON and word not in _THING and word not in _MANY:
            return None
        possessive = tree.tags[index] == _POSSESSIVE
        holder = self._subject_above(tree, index)
        if holder is None or (not possessive and holder != index):
            return None  # an object, or a possessive that the clause's own subject explains
        if tree.heads[holder] != head:
            return None  # in a subordinate clause the main clause's own subject competes
        if any(
            tree.is_noun(earlier) and tree.deps[earlier] in ("nsubj", "nsubj:pass")
            for earlier in self._before(tree, index, head)
        ):
            return None  # "If the tenant fails, it …"
        entity = self._antecedent(word)
        if entity is None or not entity.name:
            return None
        name = entity.name
        if possessive:
            name += "'" if name.endswith("s") and entity.plural else "'s"
        return Mention(entity.name, name)

    def _antecedent(self, word: str) -> Entity | None:
        if word in _PERSON:
            who = _PERSON[word]
            known = self.people.get(who)
            others = [entity for other, entity in self.people.items() if other != who]
            candidate = self.subject if self.subject and self.subject.proper and not self.subject.plural else None
            if candidate in others:
                candidate = known
            if candidate == self.topic and not self._may_be_person(self.topic):
                candidate = None
            if known is None and self.company:
                return None  # "Marie married Paul. His …"
            expected = known or (self.topic if self._may_be_person(self.topic) else None)
            if self.rival or (expected and candidate and candidate != expected):
                return None  # two that it could be
            unnamed = (
                self.subject is None or not self.subject.name
            )  # so far only things, as in "Recognition came slowly."
            start = unnamed and not others and self._may_be_person(self.topic)
            entity = known or candidate or (self.topic if start else None)
            if entity:
                self.people[who] = entity
            return entity
        if word in _MANY:
            return self.subject if self.subject and self.subject.plural else None
        if self.subject is None:
            return None if self.people else self.topic
        if self.subject.plural or self.subject in self.people.values() or self.object:
            return None  # a thing that was the object may be meant as well
        return self.subject

    def _description(self, tree: Tree, index: int) -> Mention | None:
        """Resolve "the tower" by the title's own noun or by an earlier "X is a tower"."""
        noun = tree.heads[index]
        bare = (
            tree.words[index].lower() == "the"
            and noun == index + 1
            and tree.tags[noun] == "NN"
            and tree.deps[noun] in ("nsubj", "nsubj:pass")
            and all(tree.deps[child] in ("det", "punct") for child in tree.children[noun])
        )
        if not bare:
            return None
        word = tree.words[noun].lower()
        # A warship is a ship, a cathedral city a city: the head of a compound names the kind.
        same = [kind for kind in self.kinds if kind == word or (len(word) > 3 and kind.endswith(word))]
        entity = self.kinds[same[-1]] if same else None
        if entity is None and self.topic and word in self.topic.name.lower().split():
            entity = Entity(f"the {self._plain(self.topic.name)}")
        if entity is None:
            return None
        return Mention(self._plain(entity.name), entity.name, range(noun, noun + 1))

    def _surname(self, tree: Tree, index: int) -> Mention | None:
        """Write out a person's name where the last part of the title stands alone."""
        if self.topic is None or not tree.is_proper(index):
            return None
        alone = (
            _is_name(self.topic.name)
            and tree.words[index] == self.topic.name.split()[-1]
            and (index == 0 or not tree.words[index - 1][0].isupper())
            and not any(
                tree.tags[other].startswith("NNP") for other in (index - 1, index + 1) if 0 <= other < len(tree.words)
            )
            and (index == 0 or tree.words[index - 1].lower() not in ("the", "a", "an"))
            and tree.deps[index] in ("nsubj", "nsubj:pass", "nmod:poss", "root")
        )
        return Mention(self.topic.name, self.topic.name) if alone else None

    # Memory

    def _remember(self, tree: Tree, head: int, mentions: dict[int, Mention]) -> None:
        subject = tree.child(head, "nsubj", "nsubj:pass")
        own = set() if subject is None else set(tree.subtree(subject))
        self.company = any(
            tree.is_proper(token)
            and (
                " " in tree.words[token]
                or tree.child(token, "flat") is not None
                or tree.deps[token] in ("obj", "iobj", "obl:agent")
            )
            for token in tree.subtree(head)
            if token not in own
        )
        if subject is None:
            self.subject = Entity("")  # an imperative, say: what "it" is after that cannot be told
            return
        entity = self._entity(tree, subject, mentions)
        self.subject = entity or Entity("")
        thing = tree.child(head, "obj")
        self.object = thing is not None and tree.is_noun(thing) and not tree.is_plural(thing)
        self.rival = entity is None and (tree.words[subject].lower() in _RELATIVES or tree.is_proper(subject))
        if entity is None:
            return
        if tree.child(head, "cop") is not None and tree.tags[head] == "NN" and not entity.plural:
            self.kinds[tree.words[head].lower()] = entity

    def _entity(self, tree: Tree, subject: int, mentions: dict[int, Mention]) -> Entity | None:
        left_out = {
            child
            for child in tree.subtree(subject)
            if tree.deps[child] in ("acl:relcl", "appos", "acl", "parataxis", "punct") and tree.words[child] != "-"
        }
        tokens = tree.subtree(subject, left_out - {subject})
        first = tokens[0]
        if mention := mentions.get(first):
            if len(tokens) == 1 + len(mention.covers):
                return Entity(mention.text, tree.words[subject].lower() in _MANY, proper=True)
            return None
        if tree.tags[subject] == "PRP" or not tree.is_noun(subject) or len(tokens) > _LONGEST_NAME:
            return None
        words = [tree.words[token] for token in tokens]
        if self.topic and self._plain(" ".join(words)).lower() == self._plain(self.topic.name).lower():
            return self.topic
        definite = words[0].lower() in ("the", "this", "that", "his", "her", "its", "their")
        if not tree.is_proper(subject) and not (definite or tree.tags[subject] == "NNS"):
            return None
        if not tree.is_proper(first) and words[0].lower() in ("the", "a", "an", "this", "many", "most", "some"):
            words[0] = words[0].lower()
        if words[0] in ("this", "that", "his", "her", "its", "their") or words[0].lower() in ("a", "an"):
            return None
        name = "".join(tree.words[token] + tree.spaces[token] for token in tokens).strip()
        if not tree.is_proper(first):
            name = name[0].lower() + name[1:]
        return Entity(name, tree.is_plural(subject), tree.is_proper(subject))

    @staticmethod
    def _before(tree: Tree, index: int, head: int) -> list[int]:
        """Return the tokens of a clause before one of them."""
        return [token for token in tree.subtree(head) if token < index]

    @staticmethod
    def _may_be_person(entity: Entity | None) -> bool:
        return entity is not None and _is_name(entity.name)

    @staticmethod
    def _plain(name: str) -> str:
        return name[4:] if name.lower().startswith("the ") else name

    @staticmethod
    def _clauses(tree: Tree) -> list[int]:
        """Return the heads of the main clauses, in order."""
        root = tree.root
        return [root, *(joined for joined in tree.all(root, "conj", "parataxis") if tree.subject(joined) is not None)]

    @staticmethod
    def _subject_above(tree: Tree, index: int) -> int | None:
        """Return the subject noun phrase that a token stands in."""
        while tree.heads[index] != index:
            if tree.deps[index] in ("nsubj", "nsubj:pass"):
                return index
            if tree.is_verb(index):
                return None
            index = tree.heads[index]
        return None


def _is_name(title: str) -> bool:
    """Tell whether a title may be a person's name: two to four capitalised words without an article."""
    parts = title.split()
    capitalised = all(part[0].isupper() and part.replace("-", "").replace("'", "").isalpha() for part in parts)
    return 2 <= len(parts) <= 4 and capitalised and parts[0] not in ("The", "A", "An")
