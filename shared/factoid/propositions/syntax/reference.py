"""Resolve pronouns, bare definite descriptions and surnames where that is safe.

Propositions are contextualised this way (Dense X Retrieval, §2).

A passage is read sentence by sentence. Subjects of main clauses are remembered, since the subject
of the sentence before is by far the most frequent antecedent of a subject pronoun. Anything that
competes with it makes the reference unsafe, and the words stay unchanged: a wrong name is worse
than a pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from factoid.propositions.syntax.dangling import WEATHER
from factoid.propositions.syntax.headings import (
    FEMALE,
    GENDERED,
    HONORIFICS,
    MALE,
    PEOPLE,
    THINGS,
    EntityKind,
    Headings,
    entity_kind,
    head_noun,
    is_name,
    may_be_owner,
)
from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.phrases import is_quoted, is_set_off
from factoid.propositions.syntax.render import Mention
from factoid.propositions.syntax.tree import NOUN, PROPER, VERB, Tree, load_parser, tokenize

# A pronoun in its plain form, which a heading or an entity has to fit.
_PLAIN = {
    "he": "he",
    "his": "he",
    "she": "she",
    "her": "she",
    "it": "it",
    "its": "it",
    "they": "they",
    "their": "they",
}
_PLURAL_PEOPLE = frozenset({"people", "men", "women", "children", "individual", "other"})
_VAGUE = frozenset(
    "day man name number people person place set thing time value way woman word year".split()
)
_CONTENT_CLAUSE = frozenset("that whether if how what why which who when where because".split())
# Predicates whose "it" may stand for nothing if a clause or an infinitive follows.
_IMPERSONAL = LEXICON["seem"] | LEXICON["easy"] | LEXICON["impersonal"]
# "It is ready to …" is somebody or something; "It is hard to …" is mostly neither.
_PERSONAL = frozenset(
    "able unable ready likely unlikely prone eager due set bound free willing supposed expected "
    "designed meant built used made "
    "intended".split()
)
_BE = frozenset("is was 's ’s are were be been".split())
# "It's how the team works", "It is up to you", "It's about people": it is what was said before.
_OF_WHAT_WAS_SAID = _CONTENT_CLAUSE | frozenset("up about time just like as".split())
# Their subject points at something on the page.
_POINTERS = frozenset(
    "figure figures table tables listing listings example examples section sections chapter page "
    "screenshot diagram image "
    "snippet following above list lists default defaults".split()
)
_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_OPEN_QUESTION = frozenset("whether if how what why".split())
_SPEECH = re.compile(r"[,?!][\"”]")  # "I see," said Anna: a story, in which pronouns change
_LONGEST_ABBREVIATION = 5  # letters; a longer heading in capitals may be any words
_SOMEBODY = re.compile(r"\b(?:he|she|his|him|her)\b", re.IGNORECASE)
_OF_OTHER_SEX = {
    "he": frozenset("she her hers herself".split()),
    "she": frozenset("he him his himself".split()),
}
_POSSESSIVE = re.compile(r"['’]s?\s")
_PERSONS = _OF_OTHER_SEX["he"] | _OF_OTHER_SEX["she"]
# Before a place: "He met her in Oslo" explains no "her".
_PLACED = frozenset("at from in near on".split())
# "It was midnight", "It was dark outside", "It took him years": an "it" that names no thing
_TIMES = LEXICON["parts of time"] | LEXICON["times"]
_WITH_WEATHER = _TIMES | LEXICON["airs"]
_PERIODS = LEXICON["periods"] | LEXICON["parts of time"]
_CLOCK = frozenset("o'clock o’clock a.m. p.m. a.m p.m am pm past".split())
_OUTDOORS = frozenset("outside outdoors here there everywhere tonight today tomorrow".split())
_LINKING = frozenset(
    "become becomes became get gets got grow grows grew turn turns turned feel feels felt prove "
    "proves proved proven remain remains remained stay stays stayed".split()
)
# What was told may be these, and an entity only if it is called an event.
_TURNING = frozenset({"turning", "low", "high"})
_VERDICTS_IN_THE_PAST = frozenset("challenge chance choice effort opportunity".split())
_BEFORE_NAMES = frozenset("cyclone hurricane operation typhoon".split())
_SOMEBODY_ELSE = frozenset("him her them me us".split())
_NAMED_THINGS = LEXICON["landmarks"] | LEXICON["organisations"]
# "The tyre touches the rim, but it is wrong": it is what was said before.
_OF_EVENTS = frozenset(
    "correct incorrect wrong true false ok okay fine bug normal intentional expected intended "
    "deliberate".split()
)
_EVENT_VERBS = frozenset(
    "result results mean means meant lead leads led take takes took happen happens happened cost "
    "costs require requires required help helps".split()
)
_ALSO_THINGS = frozenset(
    "model host agent driver operator editor client reader writer worker head holder boss".split()
)
_RELATIONAL = frozenset(
    "advantage aim benefit difference exception goal idea intent point problem purpose reason rest "
    "responsibility result role usage use".split()
)
_QUANTIFIERS = frozenset(
    "any no each every either neither some another other most many few all".split()
)
_EVERYBODY = frozenset(
    "everyone everybody everything anyone anybody anything someone something nobody nothing".split()
)
_PREPOSITIONS = frozenset("with within without from to for on in at by into over under".split())
_GO_ON_FROM_NOUNS = (*NOUN, "DT", "PRP$")  # tags: a noun phrase before one has no end, or no verb
_SHORT = 3  # words; a longer heading is more often a sentence
_BESIDE_VERBS = ("not", "n't", "n’t", "never", "only", "also", "still")
# Beginnings of tags.
_NOT_NOMINAL = tuple("VB MD PRP WRB WP WDT RP TO EX RB -LRB- UH .".split())
_SUBJECT = ("nsubj", "nsubj:pass")
_OBJECT = frozenset({"obj", "iobj", "obl:agent"})
_ASIDES = frozenset({"acl:relcl", "appos", "acl", "parataxis", "punct"})
_LONGEST_NAME = 8


class Entity(NamedTuple):
    """A person or thing that was mentioned."""

    name: str  # "" if nothing is known
    kind: EntityKind = EntityKind.UNKNOWN
    proper: bool = False


@dataclass(slots=True)
class Discourse:
    """The entities mentioned so far in a passage."""

    headings: Headings
    # The passage may be the first under its heading; in a later one "it" means the passage before.
    opens: bool = True
    text: str = ""  # of the passage: a heading that it does not write may be the name of a kind
    subject: Entity | None = None
    object: bool = False  # the last clause had a singular noun as its object
    objects: bool = False  # or a plural one
    company: bool = False  # the last clause named someone besides its subject
    competitors: set[str] = field(default_factory=set)  # "he", "she": its object may also be meant
    rival: bool = False  # the last subject was a person who cannot be named here
    people: dict[str, Entity] = field(default_factory=dict)  # "he" or "she" → who that was
    sorts: dict[str, Entity] = field(default_factory=dict)  # "city" → what was said to be one
    # name → what the passage says it is
    learned: dict[str, EntityKind] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # proper subjects
    said: set[str] = field(default_factory=set)  # the pronouns of persons so far
    someone: bool = False  # one person was spoken of, whom "they" may mean
    namesakes: set[str] = field(default_factory=set)  # last parts of the full names in the passage

    def begin_item(self) -> None:
        """Forget the last subject: an item of a list does not go on from the one before."""
        self.subject = Entity("")

    def read(self, tree: Tree) -> dict[int, Mention]:
        """Return what the referring expressions of the next sentence stand for.

        The keys are their first tokens.
        """
        mentions: dict[int, Mention] = {}
        self.someone |= not PEOPLE.isdisjoint(tree.lower)
        joined = tree.all(tree.root, "conj", "parataxis")
        clauses = [tree.root, *[head for head in joined if tree.subjects[head] is not None]]
        aside = (
            not {"(", "["}.isdisjoint(tree.words[:2])
            and len(tree.bracketed()) >= len(tree.words) - 1
        )
        for head in clauses:
            if aside and head != tree.root:
                break  # its subjects are not remembered
            other_clauses = clauses if len(clauses) > 1 else ()
            for index in tree.subtree(head, other_clauses):
                mention = None
                if tree.lower[index] in _PLAIN:
                    mention = self._pronoun(tree, index, head)
                elif tree.lower[index] == "the":
                    mention = self._description(tree, index)
                elif tree.words[index] in self.headings.surnames and tree.tags[index] in PROPER:
                    mention = self._surname(tree, index)
                if mention:
                    mentions[index] = mention
            if not aside and len(tree.words) > 1:
                self._remember(tree, head, mentions)
        self.said |= _PERSONS.intersection(tree.lower)
        if tree.words[-1] == ":":
            self.subject = Entity("")  # what follows speaks of the items of a list
        return mentions

    def _pronoun(self, tree: Tree, index: int, head: int) -> Mention | None:
        pronoun = _PLAIN[tree.lower[index]]
        last = [token for token, word in enumerate(tree.words) if word[0].isalnum()][-1]
        if tree.tags[last] == "MD" or (last == index + 1 and tree.lower[last] in _BE):
            return None  # "They will:", "It is:"
        possessive = tree.tags[index] == "PRP$"
        if index == 1 and tree.tags[0] == "IN" and possessive:
            return None  # "Since its invention, the script …"
        after, other = [*tree.lower[index + 1 : index + 3], "", ""][:2]
        if index and tree.lower[index - 1] in ("be", "as") and pronoun == "it":
            return None  # "be it heat or cold"
        if after in ("or", "/") and other in _PLAIN:
            return None  # "he or she"
        holder = _subject_above(tree, index)
        if holder is None or (not possessive and holder != index):
            return None  # an object, or a possessive that the clause's own subject explains
        if tree.heads[holder] != head or _is_expletive(tree, index) or is_quoted(tree, index):
            return None  # in a subordinate clause the main clause's own subject competes
        before = [token for token in tree.subtree(head) if token < index]
        nouns_before = [token for token in before if tree.tags[token] in NOUN]
        if tree.has_dep(nouns_before, (*_SUBJECT, "obj")):
            return None  # "If the tenant fails, it …", "When we run this program, it …"
        if pronoun in ("it", "they") and not _is_plain_opening(tree, before):
            return None
        if "if" in tree.lower[:index] and not NOUN.isdisjoint(tree.tags[:index]):
            return None  # "If a guest uses a lamp then it …"
        if tree.words[index + 1 : index + 2] == ["/"] or (
            not possessive and after.startswith(("'d", "’d"))
        ):
            return None
        if pronoun in ("he", "she"):
            entity = self._person(pronoun, tree, before)
        else:
            entity = self._thing(pronoun, tree, before)
        if pronoun == "they" and entity:
            is_things = entity.name.lower().split()[-1].removesuffix("s") not in PEOPLE
            if (is_things and self.someone) or self._act_as_people(tree, head, entity):
                return None  # "A member … they": one person
        if entity is None or not entity.name or _names(tree, index, head, entity):
            return None
        if tree.words[-1] == ":" and not entity.proper:
            return None  # "They are applied in this order:", of what stands below
        if tree.lower[index] in ("it", "they") and _is_occasion(tree, index, entity):
            return None  # "It was a cold winter", "It was a victory for the mayor"
        if pronoun == "it" and head != tree.root and tree.lower[head] in _EVENT_VERBS:
            return None  # "Anna could move, but it would result in costs"
        if not entity.proper and _holds_others(entity.name):
            return None  # "The price of the ticket …. It …"
        if possessive and re.search(r"['’]s\b", entity.name):
            return None  # "Anna's lamp is red. Its …"
        self.learned[entity.name.casefold()] = EntityKind(pronoun)
        if not possessive:
            return Mention(entity.name, entity.name)
        is_plural = entity.name.endswith("s") and entity.kind is EntityKind.MANY
        ending = "'" if is_plural else "'s"
        return Mention(entity.name, entity.name + ending)

    @staticmethod
    def _act_as_people(tree: Tree, head: int, entity: Entity) -> bool:
        """Return whether a clause says of things what only people do, so that others are meant."""
        if not PEOPLE.isdisjoint(word.lower().removesuffix("s") for word in entity.name.split()):
            return False
        verbs = [head, *tree.all(head, "xcomp", "conj")]
        if tree.has_word(verbs, LEXICON["human verbs"]):
            return True
        has_them = tree.has_word(tree.all(head, "obj", "iobj"), ("them", "us", "you"))
        return has_them and not tree.has_word(verbs, LEXICON["give"])

    def _person(self, who: str, tree: Tree, before: list[int]) -> Entity | None:
        if _SPEECH.search(self.text):
            return None
        known = self.people.get(who)
        candidate = None
        if self.subject and self.subject.proper and self.subject.kind.fits(who):
            candidate = self.subject
        if self.rival or who in self.competitors or (known is None and self.company):
            return None  # "Marie married Paul. His …"
        heading = self.headings.named_by(who)
        if heading and not is_noun_phrase(heading.name):
            heading = None  # "Acme welcomes Anna Berg as director"
        if (
            heading
            and heading.kind is EntityKind.UNKNOWN
            and not _is_written(heading.name, self.text)
        ):
            heading = None  # it may be no person: "Practicing By Yourself"
        topic = Entity(heading.name, heading.kind, proper=True) if heading else None
        expected = known or topic
        if expected and candidate and candidate.name != expected.name:
            if not _is_same_person(candidate.name, expected.name):
                return None  # two possible referents
            candidate = expected
        # So far only things were spoken of, as in "Recognition came slowly."
        unnamed = self.subject is None or not self.subject.name or self.subject.kind in THINGS
        entity = known or candidate
        if entity and not self._is_full_name(entity.name):
            return None  # "Jo waved. He …": a first name alone may be anybody's
        if entity is None and unnamed and not self.people:
            proper = [token for token in before if tree.tags[token] in PROPER]
            kinds = {entity_kind(tree.words[token]) for token in proper}
            if not tree.has_dep(proper, ("obj",)) and EntityKind(who) not in kinds:
                entity = topic
        if entity is None or may_be_owner(entity.name, who):
            return None
        is_told = known is not None or entity.kind in GENDERED
        if not is_told and (not _OF_OTHER_SEX[who].isdisjoint(self.said) or _names_both(tree, who)):
            return None  # "He reviewed her thesis": which of the two is the one that is known?
        self.people[who] = entity
        return entity

    def _is_full_name(self, name: str) -> bool:
        """Return whether a name has several parts, titles apart, or a heading holds it."""
        parts = [part for part in name.split() if part.lower().strip(".") not in HONORIFICS]
        return len(parts) > 1 or any(name in heading.name for heading in self.headings.path)

    def _thing(self, pronoun: str, tree: Tree, before: list[int]) -> Entity | None:
        if self.subject is None:
            if tree.words[0] in ("(", "["):
                return None
            tags = {tree.tags[token] for token in before}
            verbs = not tags.isdisjoint(VERB) or (before and tree.tags[0].startswith(("JJ", "VB")))
            if tree.words[-1] == ":":
                return None  # "It is set here:", below code or a picture
            fronted = verbs and not tags.isdisjoint(NOUN)  # "When opening the lid, it …"
            if fronted or self.people or not self.opens:
                return None
            heading = self.headings.named_by(pronoun)
            if (
                heading is None
                or len(heading.name.split()) > _SHORT
                or not is_noun_phrase(heading.name)
            ):
                return None
            if not _PREPOSITIONS.isdisjoint(heading.name.lower().split()):
                return None  # "Notes for Acme"
            is_shouted = heading.name.isupper() and len(heading.name) > _LONGEST_ABBREVIATION
            if is_shouted and heading.name not in self.text:
                return None
            return Entity(heading.name, heading.kind, proper=True)
        if not self.subject.kind.fits(pronoun) or self.subject in self.people.values():
            return None
        # A thing that was the object may also be meant.
        is_rivalled = self.objects if pronoun == "they" else self.object
        return None if is_rivalled else self.subject

    def _description(self, tree: Tree, index: int) -> Mention | None:
        """Resolve "the tower" by a heading or by an earlier "X is a tower".

        The heading is the nearest that names a tower.
        """
        noun = tree.heads[index]
        word = tree.lower[noun]
        if (
            noun != index + 1
            or tree.tags[noun] != "NN"
            or tree.deps[noun] not in _SUBJECT
            or word in _VAGUE
        ):
            return None
        bare = all(tree.deps[child] in ("det", "punct") for child in tree.children[noun])
        if not bare or is_quoted(tree, index):
            return None
        # A warship is a ship, a cathedral city a city: the head of a compound names the kind.
        same = None  # what was last said to be such a thing
        for sort in self.sorts:
            if sort == word or (len(word) > 3 and sort.endswith(word)):
                same = sort
        if same is not None:
            entity = self.sorts[same]
            if self.subject and self.subject.name not in ("", entity.name):
                return None  # which may be one as well
            if not entity.proper or "`" in entity.name:
                return None
            return Mention(_without_article(entity.name), entity.name, range(noun, noun + 1))
        for heading in self.headings.entities:
            # "Spanish Rice" is no name, unless the passage writes it as one.
            is_named = word in _NAMED_THINGS or heading.name in self.text
            if is_named and head_noun(heading.name) == word:
                break
        else:
            return None
        if " " not in heading.name or not is_noun_phrase(heading.name):
            return None
        if (
            tree.tags[noun + 1 : noun + 2] in (["WDT"], ["WP"], ["IN"])
            or tree.words[noun + 1][0] in "`\"“'("
        ):
            return None  # "the type that …" is another one, and so is "the type `int`"
        if word in LEXICON["organisations"]:
            # Another name may be meant, as in "ITT promised that the company …".
            capitals = [other for other in tree.words[:index] if len(other) > 1 and other.isupper()]
            named = bool(capitals) or not PROPER.isdisjoint(tree.tags[:index])
            if named or self.company or any(name not in heading.name for name in self.names):
                return None
        name = _without_article(heading.name)
        return Mention(name, f"the {name}", range(noun, noun + 1))

    def _surname(self, tree: Tree, index: int) -> Mention | None:
        """Write out a person's name where only its last part is used."""
        word = tree.words[index]
        name = self.headings.surnames[word]
        is_person = entity_kind(name) is not EntityKind.UNKNOWN or _SOMEBODY.search(self.text)
        if not is_person and name not in self.text:
            return None  # "Small Cars", "Spanish Rice"
        if word in self.namesakes or tree.deps[index] not in (*_SUBJECT, "nmod:poss", "ROOT"):
            return None
        before = tree.words[index - 1] if index else ""
        if before[:1].isupper() or before in ("the", "a", "an"):
            return None
        return Mention(name, name)

    def _remember(self, tree: Tree, head: int, mentions: dict[int, Mention]) -> None:
        subject = tree.child(head, *_SUBJECT)
        clause = tree.subtree(head)
        names = [token for token in clause if tree.tags[token] in PROPER]
        self._remember_names(tree, names, subject)
        self.competitors = set()
        if subject is None:
            self.subject = Entity("")  # for example an imperative: the next "it" is unknown
            return
        before_this = self.subject
        noun = tree.lower[subject]
        if _is_expletive(tree, subject):
            subjects = [token for token in clause if tree.deps[token] in _SUBJECT]
            if subjects == [subject]:
                return  # "It is recommended to wait." says nothing of anything
        self._remember_objects(tree, head)
        before = [token for token in clause if token < subject]
        if tree.has_tag(before, ("WRB", "WP")):
            self.subject = Entity("")  # "… tests how many of them the server can handle"
            return
        self._remember_other_subjects(tree, head, subject)
        entity = self._entity(tree, subject, mentions) or Entity("")
        if head != tree.root and before_this and before_this.name not in ("", entity.name):
            self.objects |= before_this.kind is EntityKind.MANY
            self.object |= before_this.kind is not EntityKind.MANY
        if entity.proper and entity.kind is EntityKind.UNKNOWN:
            entity = self._learn(tree, head, entity)
        self.subject = entity
        if entity.proper:
            self.names.add(_without_article(entity.name))
        if noun in ("he", "she") and subject not in mentions:
            self.competitors.add(noun)
        if noun in ("it", "they") and subject not in mentions:
            self.object = self.objects = True  # the next one may mean the same
        # If the sentence names what a heading names, its other nouns are likely to mean the same.
        someone = noun in PEOPLE and not any(
            heading.name in tree.source for heading in self.headings.entities
        )
        someone = someone or noun in LEXICON["relatives"] or tree.tags[subject] in PROPER
        self.rival = someone and not entity.proper
        one = entity.name and entity.kind is not EntityKind.MANY
        if one and tree.tags[head] == "NN" and tree.child(head, "cop") is not None:
            self.sorts[tree.lower[head]] = entity

    def _remember_names(self, tree: Tree, names: Sequence[int], subject: int | None) -> None:
        """Remember whether a clause names someone besides its subject.

        The last parts of full names that are not in the headings are remembered, too.
        """
        self.company = False
        for token in names:
            if (
                tree.deps[token] in _OBJECT
                or " " in tree.words[token]
                or tree.child(token, "flat") is not None
            ):
                self.company = self.company or subject is None or token not in tree.subtree(subject)
            if token and tree.tags[token - 1] in PROPER:
                first, last = tree.words[token - 1 : token + 1]
                titled = tree.lower[token - 1].strip(".") in HONORIFICS
                full_name = f"{first} {last}"
                if titled or any(full_name in heading.name for heading in self.headings.path):
                    continue
                self.namesakes.add(last)

    def _remember_other_subjects(self, tree: Tree, head: int, subject: int) -> None:
        """Remember the subjects of subordinate clauses: the next pronoun may mean one of them."""
        for token in tree.subtree(head):
            if token == subject or tree.deps[token] not in _SUBJECT:
                continue
            clause = tree.heads[token]
            if clause == head or tree.tags[token] not in (*NOUN, "ADD", "DT"):
                continue
            is_person = tree.lower[token] in PEOPLE - _ALSO_THINGS
            if tree.deps[clause] in ("ccomp", "advcl", "csubj") and not is_person:
                many = tree.is_plural(token)
                self.objects |= many
                self.object |= not many

    def _remember_objects(self, tree: Tree, head: int) -> None:
        if head == tree.root:
            self.object = self.objects = False
        passive = tree.child(head, "aux:pass") is not None
        relations = ("obj", "obl", "obl:agent") if passive else ("obj",)
        for thing in tree.all(head, *relations):
            if tree.deps[thing] != "obj" and not tree.has_word(tree.children[thing], ("by",)):
                continue
            noun = tree.lower[thing]
            if tree.tags[thing] not in (*NOUN, "ADD") and noun not in ("it", "them"):
                continue
            self.competitors.update(who for who in ("he", "she") if _competes(tree, thing, who))
            if noun not in PEOPLE:
                many = noun == "them" or tree.is_plural(thing)
                self.objects |= many
                self.object |= not many or tree.tags[thing] in PROPER  # "Tyne and Wear Metro"

        for thing in tree.subtree(head):
            rival = tree.heads[thing]  # "You can use one of the following lamps. They are …"
            is_rival = tree.lower[thing] == "following" and tree.tags[rival] in NOUN
            if tree.deps[thing] == "obj" and rival != head and tree.tags[rival] == "VBG":
                rival = thing  # "The rule is for finding the lid. It …"
                is_rival = tree.has_word(tree.children[thing], ("the", "this", "that"))
            if is_rival:
                many = tree.is_plural(rival)
                self.objects |= many
                self.object |= not many

        for thing in tree.subtree(head):
            is_behind = thing > head and tree.deps[thing] in ("obl", "obl:agent", "nmod")
            if is_behind and tree.tags[thing] == "NNS":
                self.objects = True  # "The rules result in lists. They …"

        for person in tree.subtree(head):
            is_person = tree.lower[person].removesuffix("s") in PEOPLE | _PLURAL_PEOPLE
            if tree.tags[person] == "NNS" and is_person and tree.deps[person] not in _SUBJECT:
                self.objects = True  # "There are lamps for guests. They …"
        for code in tree.subtree(head):
            # "It is done in `step()`. It's called by …": the code may be meant.
            if tree.words[code].startswith("`") and tree.deps[code] in ("obl", "obl:agent"):
                self.object = True

        # What a clause ends with and tells more of: "It was written for Oslo, which has a bridge."
        for described in tree.subtree(head):
            if tree.deps[described] in _SUBJECT or tree.tags[described] not in (*NOUN, "ADD"):
                continue
            if (
                tree.child(described, "acl:relcl") is not None
                and "," in tree.words[described + 1 : described + 2]
            ):
                many = tree.is_plural(described)
                self.objects |= many
                self.object |= not many

    def _learn(self, tree: Tree, head: int, entity: Entity) -> Entity:
        """Learn what a clause says its subject is: "is a physicist", "lost its mast"."""
        words = {tree.lower[token] for token in tree.subtree(head)}
        noun = tree.lower[head]
        if tree.child(head, "cop") is not None and tree.tags[head] == "NN":
            person = noun in PEOPLE or noun.endswith(("ist", "ian", "er", "or", "man"))
        elif words & {"its", "itself"}:
            person = False
        elif words & {"his", "himself", "her", "herself"}:
            person = True
        else:
            return entity
        learned = EntityKind.PERSON if person else EntityKind.THING
        self.learned[entity.name.casefold()] = learned
        return Entity(entity.name, learned, proper=True)

    def _kind(self, name: str) -> EntityKind:
        """Return the kind that a name in the passage denotes.

        The passage, the headings, and the words of the name tell it.
        """
        if learned := self.learned.get(name.casefold()):
            return learned
        words = set(name.lower().split())
        for heading in self.headings.path:
            parts = heading.name.lower().split()
            if words <= set(parts) and (heading.kind in THINGS or words & {parts[0], parts[-1]}):
                if heading.kind is EntityKind.MANY and len(words) < len(parts):
                    return EntityKind.THING
                return heading.kind
        return entity_kind(name)

    def _entity(self, tree: Tree, subject: int, mentions: dict[int, Mention]) -> Entity | None:
        asides = [child for child in tree.subtree(subject) if tree.deps[child] in _ASIDES]
        for child in asides:
            if tree.deps[child] == "appos" and not is_set_off(tree, child):
                return None  # "The town SRE guide": a name of several words that was torn
        left_out = {child for child in asides if tree.words[child] != "-"}
        aside = tree.bracketed()
        closing = max(aside, default=-1)
        if subject < closing and not NOUN.isdisjoint(tree.tags[closing + 1 : closing + 2]):
            return None  # "The SOC (System on Chip) sensor"
        phrase = [token for token in tree.subtree(subject, left_out) if token not in aside]
        if subject not in phrase:
            return None
        first = phrase[0]
        if mention := mentions.get(first):
            if len(phrase) > 1 + len(mention.covers):
                return None
            return Entity(mention.text, self._kind(mention.text), proper=True)
        proper = tree.tags[subject] in PROPER
        if not _may_be_referent(tree, subject, phrase):
            return None
        plain = _without_article(" ".join([tree.words[token] for token in phrase])).lower()
        for heading in self.headings.entities:
            if plain == _without_article(heading.name).lower():
                return Entity(heading.name, heading.kind, proper=True)
        opener = tree.lower[first]
        tag = tree.tags[first]
        if opener in ("his", "her", "its", "their", "a", "an") or (
            opener in ("this", "that") and not proper
        ):
            return None
        if not proper and opener != "the" and tree.tags[subject] != "NNS":
            return None
        words = []
        for token in phrase:
            space = tree.spaces[token] if token + 1 in phrase else " "
            words.append(tree.words[token] + space)
        name = "".join(words).strip()
        has_inner_capital = any(map(str.isupper, tree.words[first][1:]))  # "CSRF"
        is_named = tag in PROPER or (proper and tag.startswith(("NN", "VB", "JJ")))
        capital = is_named or has_inner_capital
        is_mistaken = tag == "NNS" and not opener.endswith("s")  # a name, and no plural
        if not capital and not is_mistaken:
            name = name[0].lower() + name[1:]
        if tree.is_plural(subject):
            return Entity(name, EntityKind.MANY, proper)
        if proper:
            return Entity(name, self._kind(name), proper=True)
        noun_kind = EntityKind.PERSON if tree.lower[subject] in PEOPLE else EntityKind.THING
        return Entity(name, noun_kind)


def _may_be_referent(tree: Tree, subject: int, phrase: Sequence[int]) -> bool:
    """Return whether later pronouns may mean a subject: where its phrase ends is certain."""
    first = phrase[0]
    if tree.lower[subject] in _POINTERS or tree.lower[first] in _QUANTIFIERS:
        return False
    if tree.has_tag(phrase, ("WDT", "WP", "WRB")) or tree.tags[first] == "RB":
        return False
    if _is_incomplete(tree, phrase) or _goes_on_with_a_name(tree, phrase):
        return False
    if tree.words[first].startswith("`") and tree.child(tree.heads[subject], "aux:pass"):
        return False  # "`on` is sent to the lamp": it is rather the lamp that goes on
    if tree.lower[subject] in _RELATIONAL:
        return False  # "The purpose of the interview …. It …"
    if len(tree.all(tree.heads[subject], *_SUBJECT)) > 1:
        return False  # "The type `Map` is …": it is not known where the subject ends
    is_short = tree.tags[subject] in NOUN and len(phrase) <= _LONGEST_NAME
    return is_short and not _is_unnamed(tree, subject, phrase)


def _goes_on_with_a_name(tree: Tree, phrase: Sequence[int]) -> bool:
    """Return whether a name follows a noun with an article: "The way Acme does it is …"."""
    if len(phrase) < 3 or tree.tags[phrase[0]] != "DT":
        return False
    *_, noun, name = phrase
    return name == noun + 1 and tree.tags[noun] in ("NN", "NNS") and tree.tags[name] in PROPER


def _names(tree: Tree, index: int, head: int, entity: Entity) -> bool:
    """Return whether a clause names an entity itself.

    "He sent Martin to school" cannot be about Martin.
    """
    name = entity.name.split()
    for token in tree.subtree(head):
        if token > index and tree.lower[token] == head_noun(entity.name):
            return True
    for clause in (head, *tree.all(head, "ccomp", "xcomp", "csubj")):
        for token in tree.all(clause, "obj", "iobj", *_SUBJECT):
            if token > index and tree.words[token] in name and tree.tags[token] in PROPER:
                return True
    return False


def _is_plain_opening(tree: Tree, before: Sequence[int]) -> bool:
    """Return whether the words before a pronoun leave open nothing else that it may mean.

    "However, it …" and "On the coast, it …" do; "If this changes, it …" does not.
    """
    for token in before:
        if tree.tags[token] in VERB or tree.tags[token] == "PRP":
            return False
        if tree.lower[token] in _DEMONSTRATIVES:
            return False
    return True


def _is_written(name: str, text: str) -> bool:
    """Return whether a text holds a name, or the last word of it."""
    return re.search(rf"\b{re.escape(name.split()[-1])}\b", text) is not None


def _holds_others(name: str) -> bool:
    """Return whether a noun phrase holds another noun behind a preposition."""
    return not (_PREPOSITIONS | {"of"}).isdisjoint(name.lower().split())


def _competes(tree: Tree, thing: int, who: str) -> bool:
    """Return whether an object is a person whom "he" or "she" may also mean."""
    noun = tree.lower[thing]
    if tree.is_plural(thing):
        return False
    if tree.tags[thing] in PROPER:
        name = " ".join(tree.words[token] for token in tree.subtree(thing))
        return entity_kind(name) is EntityKind(who)
    if noun in MALE or noun in FEMALE:
        meant = MALE if who == "he" else FEMALE
        return noun in meant
    return noun in LEXICON["relatives"] or noun in PEOPLE


def _names_both(tree: Tree, who: str) -> bool:
    """Return whether a pronoun of the other sex stands in a sentence, and no noun explains it.

    "He met a nurse and married her" explains it.
    """
    for token, word in enumerate(tree.lower):
        if word in _OF_OTHER_SEX[who]:
            return True
        is_placed = tree.has_word(tree.all(token, "case"), _PLACED)
        is_named = tree.tags[token] in PROPER and not is_placed
        if is_named or word in PEOPLE or word in LEXICON["relatives"]:
            return False
    return False


def _is_incomplete(tree: Tree, phrase: Sequence[int]) -> bool:
    """Return whether a noun phrase is only a part of a name or of a list."""
    first = phrase[0]
    before = tree.tags[first - 1 : first] if first else []
    is_listed = first > 1 and tree.words[first - 1] == "," and tree.tags[first - 2] == "NNS"
    if is_listed and tree.child(first - 2, "case") is None:
        return True  # "Kettles, irons, cookers are …"
    if not NOUN.isdisjoint(before) or before == ["CD"]:
        return True  # "HP EliteBook 820 G2", of which only "G2" was read as the subject
    if any(tree.words[token] in ("[", "]", "(", ")", ",") for token in range(first, phrase[-1])):
        return True
    after = phrase[-1] + 1
    if tree.tags[after : after + 1] == ["CD"] and tree.tags[phrase[-1]] in PROPER:
        return True  # "The Heron X 200"
    if tree.tags[after : after + 1] in (["VBD"], ["VBN"]) and tree.lower[after + 1 : after + 2] == [
        "by"
    ]:
        return True  # "The list returned by it has …", of which the participle was read as a verb
    # "The low level API", of which "API" was read as something else, and "The first part describes
    # a bed", of which the verb was read as a noun
    return tree.tags[phrase[-1] + 1 : phrase[-1] + 2] in ([tag] for tag in _GO_ON_FROM_NOUNS)


def _holds_object(tree: Tree, phrase: Sequence[int]) -> bool:
    """Return whether an article stands within a phrase: "Hides the window" is no noun phrase."""
    for token in phrase[1:]:
        if tree.lower[token] in ("the", "a", "an") and tree.tags[token - 1] not in (
            "IN",
            "TO",
            "CC",
        ):
            return True
    return False


def _is_unnamed(tree: Tree, subject: int, phrase: Sequence[int]) -> bool:
    """Return whether a noun phrase names nothing that a pronoun may mean."""
    second = tree.tags[phrase[0] + 1] if len(phrase) > 1 else ""
    if tree.tags[phrase[0]] == "VBG" or (tree.tags[phrase[0]] == "VBN" and second == "IN"):
        return True  # "Sharing files …", "Written in C …"
    for token in phrase:
        if tree.words[token][0] in '([“"/' or (
            tree.tags[token] in VERB and tree.deps[token] != "amod"
        ):
            return True
    if _holds_object(tree, phrase):
        return True
    if tree.tags[phrase[0]] in ("IN", "TO", "CC") or tree.lower[phrase[-1]] in LEXICON["nobody"]:
        return True
    if any(tree.all(joined, "conj") for joined in tree.all(subject, "conj")):
        return True
    # "Lines that start with a hash" are not the lines.
    for clause in tree.all(subject, "acl:relcl", "acl"):
        start = tree.subtree(clause)[0]
        is_restrictive = "," not in tree.words[start - 1 : start + 1]
        if start > subject and is_restrictive and tree.words[start] != "(":
            return True
    return False


def _without_article(name: str) -> str:
    return name[4:] if name.lower().startswith("the ") else name


def _subject_above(tree: Tree, index: int) -> int | None:
    """Return the subject noun phrase that contains a token."""
    while tree.heads[index] != index:
        if tree.deps[index] in _SUBJECT:
            return index
        if tree.tags[index] in VERB:
            return None
        index = tree.heads[index]
    return None


def _is_expletive(tree: Tree, index: int) -> bool:
    """Return whether an "it" that is a subject may stand for nothing; true if in doubt."""
    if tree.lower[index] != "it":
        return False
    head = tree.heads[index]
    predicate = tree.lower[head]
    words = tree.lower[index + 1 :]
    precedes_clause = not _CONTENT_CLAUSE.isdisjoint(words)
    if predicate in _OF_EVENTS:
        return True
    if predicate in LEXICON["wished"] and "to" in words:
        return True  # "It is required to …"
    if predicate in WEATHER or (predicate in ("makes", "made") and _BE.isdisjoint(words[:2])):
        return True  # "It makes reading easier" mostly means what was said before
    if predicate in ("look", "looks", "looked") and "like" in words[:4]:
        return True
    if "since" in words and not LEXICON["periods"].isdisjoint(words):
        return True  # "It has been three months since …"
    if predicate in LEXICON["said"]:
        if precedes_clause:
            return True
        for token in range(index + 1, len(tree.words)):
            if tree.deps[token] in _SUBJECT and tree.heads[token] != head:
                return True
        return predicate in LEXICON["wished"] and "to" in words
    if predicate in ("matter", "question") and "of" in words:
        return True  # "It is a matter of …"
    if predicate in _IMPERSONAL:
        return precedes_clause or "to" in words
    verbs = [word for word in words[:3] if word not in _BESIDE_VERBS]
    if verbs[:1] and verbs[0] in _BE and verbs[1:2] and verbs[1] in _OF_WHAT_WAS_SAID:
        return True
    described = not _BE.isdisjoint(words[:2]) and tree.tags[head].startswith(("JJ", "RB"))
    if described and "to" in words and predicate not in _PERSONAL:
        return True
    if tree.tags[head].startswith("JJ") or tree.tags[head] in PROPER or tree.deps[head] == "advmod":
        return precedes_clause  # "It was Kublai who …"
    if tree.tags[head] == "JJR" and ("of" in words or tree.lower[head - 1] == "be"):
        return True  # "It would be faster …"
    named = tree.tags[head].startswith("NN") and not {"a", "an", "the"}.isdisjoint(words[:4])
    is_bare = tree.tags[head] == "NN" and tree.child(head, "det", "nmod:poss", "case") is None
    if is_bare and tree.child(head, "cop") is not None and "TO" in tree.tags[head:]:
        return True  # "It's good style to shut the lid"
    if named and "TO" in tree.tags[index + 1 :]:
        return True  # "It is a crime to lie"
    if named and not _OPEN_QUESTION.isdisjoint(words):
        return True  # "It is a judgment call whether …"
    # "It was not until 1965 that …"
    until = precedes_clause and not {"not", "only"}.isdisjoint(words[1:3])
    return not _BE.isdisjoint(words[:1]) and until


def _is_occasion(tree: Tree, index: int, entity: Entity) -> bool:
    """Return whether "it" may be a time, the weather or what was told, and not an entity.

    An entity that is a time or an event itself may be meant: "The film opened in May. It was a
    disaster".
    """
    head = tree.heads[index]
    noun = head_noun(entity.name)
    words = tree.lower[index + 1 :]
    if _is_interval(words) or _is_duration(tree, head, words):
        return True
    predicate = _predicate(tree, head)
    if predicate is None:
        happens = tree.lower[head] in ("happens", "happened")
        return happens and not _is_happening(entity.name)
    if predicate == head and _is_picked_out(tree, predicate):
        return True
    word = tree.lower[predicate]
    if tree.lower[index] == "it" and word in WEATHER | LEXICON["weather"]:
        is_weather = word in WEATHER or _is_weather(tree, index, predicate)
        return is_weather and noun not in _WITH_WEATHER
    is_verdict = word == "point" and tree.lower[predicate - 1] in _TURNING
    is_verdict = is_verdict or (word in _VERDICTS_IN_THE_PAST and tree.is_past(head))
    is_verdict = is_verdict or not LEXICON["verdicts"].isdisjoint((word, _singular(word)))
    is_placed = predicate == head and tree.child(head, "case") is not None  # "It is at step 2"
    if is_verdict and not is_placed:
        return not _is_happening(entity.name)
    return _is_time(tree, predicate, words) and noun not in _TIMES


def _is_same_person(name: str, other: str) -> bool:
    """Return whether two names are one person's: "Anna Berg" and "General Anna Maria Berg".

    "Paul Berg" and "Paul Berg Sr." may be two, and so may "George Washington" and "George
    Washington Carver".
    """
    if _POSSESSIVE.search(f"{name} {other} "):
        return False
    shorter, longer = sorted((name.split(), other.split()), key=len)
    is_part = set(shorter) <= set(longer) and shorter[0] in longer[:-1][:2]
    return is_part and (len(shorter) == 1 or shorter[-1] == longer[-1])


def _is_happening(name: str) -> bool:
    """Return whether something is called an event: "Battle of Lund", "Hurricane Katrina"."""
    kinds = LEXICON["verdicts"] | LEXICON["events"]
    first = name.split()[0].lower()
    return head_noun(name) in kinds or first in _BEFORE_NAMES


def _predicate(tree: Tree, head: int) -> int | None:
    """Return what a clause says that its subject is, becomes or begins to be.

    That is "day" in "It was a cold day", "It turned out to be a cold day" and "It was one of the
    coldest days".
    """
    is_linking = tree.lower[head] in _LINKING
    if tree.child(head, "cop") is None:
        inner = tree.child(head, "xcomp")
        if inner is None and is_linking:
            inner = tree.child(head, "obj", "obl", "advmod", "amod")
        return inner
    if tree.lower[head] == "one":
        return tree.child(head, "nmod")
    inner = tree.child(head, "xcomp")
    is_expected = tree.tags[head] in VERB and inner is not None
    return inner if is_expected else head


def _singular(noun: str) -> str:
    """Return a noun without the ending of a regular plural."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun.removesuffix("s")


def _is_interval(words: Sequence[str]) -> bool:
    """Return whether a clause opens like "It was three years before they met"."""
    for word, following in pairwise(words[:6]):
        if word in LEXICON["periods"] and following in ("before", "until", "later", "ago"):
            return True
    return False


def _is_time(tree: Tree, predicate: int, words: Sequence[str]) -> bool:
    """Return whether a predicate says when something is: "midnight", "a cold winter", "1950"."""
    word = tree.lower[predicate]
    if word in ("spring", "quarter"):
        # "a hot spring", "the old quarter of the town"
        return "since" in words or tree.child(predicate, "det", "nmod") is None
    if tree.tags[predicate] == "CD":
        is_year = len(word) == 4 and word.isdigit()
        beside = [tree.lower[token] for token in tree.all(predicate, "nmod:unmarked")]
        is_date = not LEXICON["times"].isdisjoint(beside)
        return is_year or is_date or ":" in word or not _CLOCK.isdisjoint(words)
    if tree.child(predicate, "nummod") is not None and word not in _TIMES:
        return False  # "ten minutes from the station"
    return word in _TIMES or _singular(word) in _TIMES


def _is_weather(tree: Tree, index: int, predicate: int) -> bool:
    """Return whether an adjective may tell of the weather, the light or the hour.

    What is told of things in the present, as in "The oven is large. It is hot", is mostly theirs.
    """
    clause = tree.heads[index]
    has_been = "been" in tree.lower[index + 1 : index + 4]
    is_hour = tree.lower[predicate] in ("late", "early")
    gets_dark = predicate != clause and tree.lower[predicate] in ("dark", "light")
    is_outdoors = not _OUTDOORS.isdisjoint(tree.lower[predicate:])
    return tree.is_past(clause) or has_been or is_hour or gets_dark or is_outdoors


def _is_duration(tree: Tree, head: int, words: Sequence[str]) -> bool:
    """Return whether a clause says how long somebody needed: "It took him three years"."""
    is_needed = tree.lower[head] in ("take", "takes", "took", "taken")
    return is_needed and not (_SOMEBODY_ELSE.isdisjoint(words) or _PERIODS.isdisjoint(words))


def _is_picked_out(tree: Tree, predicate: int) -> bool:
    """Return whether a clause picks out who or what did something.

    "It was the mayor who paid" and "It was the storm that broke the mast" do.
    """
    following = tree.lower[predicate + 1 : predicate + 2]
    if tree.lower[predicate] in MALE | FEMALE or following == ["who"]:
        return True
    if tree.child(predicate, "case") is not None:
        return "that" in tree.lower[predicate:]  # "It was in the harbour that the fire broke out"
    has_article = tree.has_word(tree.all(predicate, "det"), ("the",))
    is_plain = has_article and tree.child(predicate, "amod") is None
    return following == ["that"] and is_plain and tree.is_past(predicate)


@lru_cache(1024)
def is_noun_phrase(heading: str) -> bool:
    """Return whether a heading names a thing, as far as its parse shows.

    "Cleans itself", "Short" and "Yank the gem" name none.
    """
    words = heading.split()
    if len(words) > 2 and words[1][0].islower() and _opens_with_verb(heading):
        return False
    if ":" in heading or any(word.lower() in _EVERYBODY or word[0] in "[({<" for word in words):
        return False
    if not any(map(str.isalnum, words[0])):
        return False  # "☐ Pay the bill"
    if len(words) == 1:
        return _is_nominal(heading.lower()) or not heading.isalpha()
    if is_name(heading):
        within = [word for word in words if word.lower() in _PREPOSITIONS]
        return not within and (_is_nominal(heading) or _is_nominal(heading.lower()))
    if len(words) > _SHORT:
        return _is_nominal(heading) and _is_nominal(heading.lower())
    return _is_nominal(heading) or _is_nominal(heading.lower())


def _opens_with_verb(heading: str) -> bool:
    """Return whether the first word of a heading may be an order: "Support unique symbols"."""
    nlp = load_parser()
    doc, words = tokenize(nlp, f"Please {heading.lower()}.")
    tree = Tree(nlp(doc), words)
    return tree.tags[1] == "VB" and tree.root == 1


def _is_nominal(text: str) -> bool:
    """Return whether a text is parsed as a noun with what belongs to it."""
    nlp = load_parser()
    doc, words = tokenize(nlp, text)
    tree = Tree(nlp(doc), words)
    if tree.tags[tree.root] not in NOUN and not (len(words) == 1 and tree.tags[0] in ("UH", "FW")):
        return False
    for token, tag in enumerate(tree.tags):
        if (
            len(words) > 1
            and tag.startswith(_NOT_NOMINAL)
            and not (tag in ("VBG", "VBN") and token != tree.root)
        ):
            return False
        if token and tag in ("DT", "PRP$") and tree.tags[token - 1] != "IN":
            return False
    first: str = tree.tags[0]
    return first != "IN"
