"""Abbreviations within references, which what stands around them shows.

Such are citations of laws and reporters ("Fed. R. Civ. P. 12", "5 Cal. App. 4th 12"), serial
numbers ("Ser. No. 5"), dates, hours and doses. Without the number such a word may end a sentence:
"They sued in Cal. The judge agreed."
"""

from __future__ import annotations

import re

_STATES = (
    "Ala Ariz Ark Cal Colo Conn Del Fla Ga Haw Ill Ind Kan Ky La Mass Md Me Mich Minn Miss Mo Mont "
    "Neb Nev Okla Ont Or Pa Tenn Tex Va Vt Wash Wis Wyo"
).split()
# Codes, courts and rules. No sentence begins with them.
_CODES = (
    "Admin Ann App Bankr Bus Cir Civ Comp Const Crim Ct Dist Envtl Evid Jud Juv Mun Proc Regs Rptr "
    "Rul Stat Super Supp Veh Welf"
).split()
# They stand in such chains as well, and begin sentences, too: "Gen. Lee left".
_OTHERS = (
    "Att'y Bull Cl Colum Com Comm Cong Corp Educ Exec Fam Fed Gen Gov't Harv Ins Inst Int'l Lab "
    "Misc Prob Prof Pub Rec Reg Rep Res Rev Rules Sess Stan Sup Tax Treas Unif Univ Util"
).split()
_CITED = frozenset([*_STATES, *_CODES, *_OTHERS])
_ANY_CITED = "|".join(sorted(_CITED, key=len, reverse=True))

# "Cal. | Civ. Code § 5", "Va. | Code Ann. § 8", "§ 5"
_BEFORE_SECTION = re.compile(r"\s*+(?:(?:[A-Z][\w'’]*+\.?|&|and|of)\s++){0,7}[§¶]")
# "Fed. | R. Civ. P. 12", "Cal. | App. 4th 5", "Tex. | Const. art. I", "Mass. | Gen. Laws ch. 5"
_BEFORE_CHAIN = re.compile(
    rf"\s*+(?:(?:(?:{_ANY_CITED}|[A-Z])\.|(?:Code|Laws?)\.?|&)\s*+){{1,8}}"
    r"(?:\d|(?:art|amend|ch|no|tit)\.|No\.)"
)
_BEFORE_CODE = re.compile(rf"\s++(?:{'|'.join(_CODES)})\.\s")
# "Fed. R. | Evid. 403", "85 | Fed. 5"
_BEHIND_CHAIN = re.compile(rf"(?:\b(?:{_ANY_CITED}|[A-Z])\.|[A-Z]\.[A-Z]\.|\d|\d[a-z]{{1,2}})\s\Z")
_NUMBER = re.compile(r"\s*+\d")

_DIRECTIVES = frozenset("Dec Dir Reg Regs Rec".split())
_BEFORE_DIRECTIVE = re.compile(
    r"\s*+(?:\([A-Z]{2,5}(?:, [A-Z][a-z]+)?\)\s)?(?:N[or]\.?\s|n°\s?)?\d{1,4}/\d{1,4}"
)

# "Ser. No. 5", not "We saw the cat. No. 5 was gone."
_SERIAL = frozenset(
    "Acc Acct Appl Art Best Cat Cert Conf Cust Dkt Doc Dwg Fabr Id Inv Kat Kd Lic Mat Mod Ord Pat "
    "Proj Pub Rech Ref Reg Req Ser".split()
)
_BEFORE_SERIAL = re.compile(r"\s++(?:Nos?|Nr|Num)\.?\s?[A-Z]{0,3}-?\d")

# "Okt. 2020", "5 set. 2020"
_MONTHS = frozenset(
    "abr ago avr déc des dez dic ene fev fév févr gen giu janv juil lug maj mrt mrz mär okt "
    "ott".split()
)
_MONTHS_BEHIND_DAYS = frozenset("mag mai out set".split())  # words as well
_BEHIND_DAY = re.compile(r"\b\d{1,2}\.?\s(?:de\s)?\Z")
_YEAR = re.compile(r"\s++(?:1\d|20)\d\d\b")
# "Sa. 9–12 Uhr"; words of a language are capitalised days only
_DAYS = frozenset(
    "Di Dim Do Dom Fr Gio Jeu Jue Lun Lør Lör Ma Mar Mån Man Mer Mi Mié Mo Ons Sa Sab Sáb Sam Seg "
    "Sex So Søn Sön Sob Tir Tors Vr Ven Vie Wo Za Zo Sal Çar Per Cum Cmt Paz Pzt "
    "gio jeu jue lun lør lör ma mån mer mié ons sab sáb sam søn sön tors tirs ven vie vr za "
    "pon wt śr czw pt ndz пн вт ср чт пт сб вс".split()
)
_TWO_DAYS = re.compile(r"[^\W\d_]{2,5}\.[-/][^\W\d_]{2,5}")
_HOURS = re.compile(
    r"\s++(?:\d{1,2}(?:[:.h]\d\d|h)?\s?[–-]\s?\d|\d{1,2}[:.h]\d\d\b|\d{1,2}\s?(?:h|Uhr|uur)\b)"
)

_ERA = frozenset("e f n po př".split())  # "n. | Chr.", "f. | Kr."
_BEFORE_ERA = re.compile(r"\s?(?:Chr|Kr)\b")

_MEDICINES = frozenset(
    "amox amp amps azithro cap caps chew cipro clav crm dexa doxy elix ibu inj metro oint para pen "
    "pred sol sp supp susp syr tab tabs vanc".split()
)
_DOSE = re.compile(r"\s++\d[\d.,]{0,6}+\s?(?:mg|mcg|[µμ]g|g|m[lL]|IU|IE)\b")
# How often to take a medicine. A sentence may end with them.
DIRECTIONS = frozenset("b.i.d p.r.n q.d q.h.s q.i.d q.o.d t.i.d".split())

# "Dr. rer. nat. Berg"
_DEGREES = frozenset(
    "agr art biol dent disc e.h ed habil hc h.c hum ing iur jur mag math med merc mont mult nat "
    "oec paed phil pol polit psych päd rer sc sci scient soc techn theol vet".split()
)
_BEHIND_TITLE = re.compile(
    r"\b(?:[Cc]and|Dres|[Dd]r|[Ll]ic|[Mm]ag|[Pp]rof|[Ss]tud)\.\s(?:[a-zä]{1,6}\.\s?){0,4}\Z"
)
_DIPLOMA = re.compile(r"[Dd]ipl\.-[^\W\d_]{2,}")


_WORDS = frozenset(
    word.lower()
    for words in (
        _CITED,
        _DIRECTIVES,
        _SERIAL,
        _MONTHS,
        _MONTHS_BEHIND_DAYS,
        _DAYS,
        _ERA,
        _MEDICINES,
        _DEGREES,
    )
    for word in words
)


def is_within_reference(token: str, ahead: str, text: str, end: int) -> bool:
    """Return whether the full stop of an abbreviation stands within a reference, a date or a title.

    Args:
        token: The word before the full stop.
        ahead: Some text before the word.
        text: The block.
        end: Where the full stop ends.
    """
    lower = token.lower()
    if lower not in _WORDS and "-" not in token:
        return False
    if token in _CITED and _is_cited(ahead, text, end):
        return True
    if token in _DIRECTIVES and _BEFORE_DIRECTIVE.match(text, end):
        return True
    if token in _SERIAL and _BEFORE_SERIAL.match(text, end):
        return True
    if lower in _DEGREES and _BEHIND_TITLE.search(ahead):
        return True
    if lower in _ERA and _BEFORE_ERA.match(text, end):
        return True
    if lower in _MEDICINES and _DOSE.match(text, end):
        return True
    is_day = token in _DAYS or _TWO_DAYS.fullmatch(token) is not None
    if is_day and _HOURS.match(text, end):
        return True
    is_month = lower in _MONTHS
    is_month |= lower in _MONTHS_BEHIND_DAYS and _BEHIND_DAY.search(ahead) is not None
    if is_month and _YEAR.match(text, end):
        return True
    return _DIPLOMA.fullmatch(token) is not None


def _is_cited(ahead: str, text: str, end: int) -> bool:
    for following in (_BEFORE_SECTION, _BEFORE_CHAIN, _BEFORE_CODE):
        if following.match(text, end):
            return True
    return _NUMBER.match(text, end) is not None and _BEHIND_CHAIN.search(ahead) is not None
