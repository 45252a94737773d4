"""Where sentences end in a block without Markdown. `|` stands where the one space between two sentences is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.sentences import sentence_spans
from factoid.text.sentence_ends import block_sentences, sentence_ends, spacy_sentences

PROSE = """
it crossed the slipstream .|the results were poor .|nobody asked .|why ?
dr . smith met j . k . rowling .|they spoke of fig . 3 .
the pump ran . . . and then it stopped .|it was old .
we saw the old mill yesterday.|it was closed.|is it open today?|nobody knew.|he left approx. at noon.
Run find . -name x and wait.|Then go.
See cl. 7.1, paras. 2 to 4 and Sch. 3.|The tenant pays.
Refer to App. 2 of the Act and to Sect. 9.|It holds.
I opened the app.|3 days later it was gone.
He read app. 3 of the law and pos. 12.|It was long.
Call Ext. 204 or use ver. 3.1 of it.|He used a 5 in. ruler.
It is 5 ft. 3 in. tall.|Press reg. 4.|Then wait.
It rained, cf. Pt. II, and rained.|Both are in vol. XII of it.
We sold it to Berg & Co. in May.|Let us ask Berg & Co.|They know.
App. B shows it.|App. C does not.|See Secs. 4 and 5, e.g. of the Act.
he said " go . "|she went to no . 5 , e.g . the mill .
Ing. Novák bydlí v ul. Dlouhé č. 5.|Bkz. s. 5.|Long is the ul.|The li is not.
P.S. I forgot the milk.|It is op. 5 of the cycle.
The max. temp. 20 is met.|Bake it at 350 deg. F for 5 min.|Serve it Mon.–Fri. 9–12.
Steps: 1. Open the lid 2. Wait 3. Close it
Er wohnt in der Nähe, vgl. Abs. 3 und S. 5.|Er kam mit Fr. Kurz und Hrn. Lang.|Siehe Rdnr. 14 und Buchst. c.
Le train de Mme Petit part du bd. Voltaire.|Voir l'art. 12 et l'av. Foch.|Il pleut.
M. Petit et Mlle. Roux vivent av. Foch, éd. Plon.|Il pleut depuis 50 av. J.-C. à Lyon.
«~Il part.~»|Puis il revient.|Il dort~?|Oui~!
La Srta. Gil y el Lic. Paz viven en la Avda. Sol núm. 8.|Ver págs. 3 y 4.
Vive en EE. UU. desde 1990.|El cap. 4 trata de ello.|Murió en el año 30 a. C. en Roma.
Il sig. Neri e la dott.ssa Bo citano l'art. 5 e l'avv. Riva.|Vedi pag. 9.|Poi esce.
O Sr. Melo e a Dra. Sá moram na Av. Central.|Ver pág. 7 e art. 3.|O rio corre.
Dhr. Kok en mevr. Bos zien blz. 4 en hfst. 2.|De zon schijnt.
Pan prof. Lis mieszka przy ul. Długiej, por. str. 8 i rys. 3.|Jest zima.
Zmarł w 1990 r. w Łodzi.|Urodził się w XIX w.|Potem wyjechał.
Проф. Иванов живёт на ул. Ленина, д. 5.|Он пришёл в 1990 г.|Потом ушёл.|См. рис. 4 и табл. 2.
Это было в XIX в.|Затем пришли другие и т. д.|Они остались.
Ο κ. Λάμπρου ήρθε, βλ. σελ. 4.|Πού είναι;|Εδώ είναι.
Այսօր ամառ է:|Վաղը ձմեռ է։|Լավ։
صرّح د. خالد و أ. سالم بذلك.|وصل في عام 1400 م.|ثم غادر.|هل وصل؟|نعم.
הוא בא.|היא הלכה.
डॉ. राम और श्री. मोहन आए।|वे ए. पी. जे. से मिले।
Hun bor i bygningen, jf. kap. 4, og Skt. Hans er i juni.|Det er godt.
„Er kommt.“|Dann geht er.|»Ja.«|Nein.
Tex. R. App. P. 9.4(i) and Ohio Crim. R. 16 differ.|He sued in Tex. in May.|They met in Tex.|Nobody saw it.
Va. Code Ann. § 8.01 and Nev. Rev. Stat. § 41 apply, as does Mich. Penal Code § 750.|They hold.
See 71 Fed. Reg. 2010, 9 Wis. App. 3d 44 and Pub. L. No. 99-1.|The Ga. Ct. App. agreed.
I left for Wash.|5 weeks later I was back.|He likes the app.|Civil law is dull.
Reg. (EC) No 1/2003 and Dec. 7/2011 bind.|He lost to Dir.|2006 men came.
Acct. No. 7, Doc. No. 8 and Kat. Nr. 9 are lost.|We fed the cat.|No. 7 is its bowl.
Qty. 12, Art.-Nr. 7, Kundennr. 8 and Ste. 40.|It broke by the qty.|Nobody knew.
We open Tues. 9 a.m. and close Thur. 5 p.m.|They wait till Tues.|The rest go.
Take doxy. 100 mg t.i.d. for a week.|Give susp. 5 ml b.i.d.|Shake it.|I lost a tab.|100 people saw it.
Assoc. Prof. Roe met Asst. Insp. Lee.|He wrote to Roe & Assoc.|They replied.
Er starb im 2. Jh. n. Chr. in Trier.|Die Variable heißt n.|Er kennt sie.
Prof. Dr. agr. Lang und Dipl.-Chem. Kurz und Dr. rer. pol. Roth kamen.|Er ist Dr. iur.|Sie ist es nicht.
Siehe BGBl. II S. 12 und ABl. L 5.|Es steht im BGBl.|Das gilt.|Er traf cand. med. Lang.
Offen Di.-Sa. 10–18 Uhr und Do. 9:30 bis 12 Uhr.|Er kam am Do.|9 Leute blieben.|Das macht man so.|5 waren da.
Am 3. Dez. 1999 und im Okt. 2001 war er da.|Es war im Okt.|Er ging.
Ouvert mar.-jeu. 9h-17h depuis le 2 févr. 2001.|Il est né en juil. 1950.|Il pleut.
Nato il 2 ott. 1950 e morto il 4 mag. 2001.|Vedi la sez. IV.|Il resto manca.|They dig it out.|2019 was good.
Mieszka w Łodzi przy ul. Długiej 7 m. 12.|Jest zima.
The rod is 7 m.|12 of them broke.|We asked TP.|Nobody knew.
Hun bor i Kbh. Ø og er cand. polit. Berg.|Det er godt.|Hun bor i Kbh.|Han bor i Oslo.|Det var i år 9 f. Kr. i Rom.
Halit Bey Gazi Cad. No. 7 ve Ihlamur Sok. No. 9 adresinde.|Sonra gitti.
Dna Pop și dl. Rusu stau pe bd. Unirii nr. 7, vezi pag. 8.|El nu este aici.
Hän asuu esim. Turussa, ks. Liite 7, ja tulee klo. 9.|Se on hyvä.|Hän osti leipää jne.|Sitten hän lähti.
Ông ở TP. Huế và gặp PGS. Lan.|Bà là bác sĩ.
He paid it ... gladly.|Why not . . . ?|She left.
"""


def sentences(text, *arguments):
    return [text[start:end] for start, end in block_sentences(text, *arguments)]


@pytest.mark.parametrize("line", PROSE.strip().splitlines())
def test_prose(line):
    line = line.replace("~", "\u00a0")
    if line.startswith("Steps"):
        assert sentences(line) == ["Steps:", "1. Open the lid", "2. Wait", "3. Close it"]
    else:
        assert sentences(line.replace("|", " ")) == line.split("|")


def test_scripts_without_spaces():
    assert sentences("他看了《你好！世界》吗？看了。（他说。是）好") == [
        "他看了《你好！世界》吗？",
        "看了。",
        "（他说。是）好",
    ]
    assert sentences("値は３．５だ．次は４だ．") == ["値は３．５だ．", "次は４だ．"]
    assert sentences("「はい。」と彼は言った。「いいえ。」彼は去った。") == [
        "「はい。」と彼は言った。",
        "「いいえ。」",
        "彼は去った。",
    ]
    assert sentences("वह आया।वह गई॥") == ["वह आया।", "वह गई॥"]
    assert sentences("እሱ መጣ፧እሷ ሄደች።") == ["እሱ መጣ፧", "እሷ ሄደች።"]


@pytest.mark.parametrize(
    "mark", ["\u200b", "\u00ad", "\u200e", "\u200f", "\u2060", "\ufeff", "\u200b\u200f"]
)
def test_ends_are_seen_through_invisible_characters(mark):
    assert sentences(f"It fell.{mark} It rose.") == ["It fell.", "It rose."]
    assert sentences(f"{mark}It fell. {mark}It rose.{mark}") == ["It fell.", "It rose."]
    assert sentences(f"It fell.{mark}It rose.") == [
        f"It fell.{mark}It rose."
    ]  # no white space, no end
    assert sentences(f"It f{mark}ell with D{mark}r. Lee. It rose.") == [
        f"It f{mark}ell with D{mark}r. Lee.",
        "It rose.",
    ]


def test_no_sentence_ends_in_protected_spans():
    text = "Set $a. B$ first. Then c. f. x runs."
    code = text.index("c. f. x")
    protected = [(4, 10), (code, code + 7)]
    assert sentences(text, protected) == ["Set $a. B$ first.", "Then c. f. x runs."]
    assert sentences("Wait. pip runs.", [(6, 9)]) == [
        "Wait.",
        "pip runs.",
    ]  # a name in code may start a sentence


def test_the_end_of_the_text_is_an_end_only_behind_a_mark():
    assert sentence_ends("One. Two") == [4]
    assert sentence_ends("One. Two. ") == [4, 9]
    assert sentence_ends("") == sentence_ends("Two") == []


def test_another_splitter_takes_the_place_of_the_rules():
    text = "a;b. C;d"

    def semicolons(block):
        return [at + 1 for at, character in enumerate(block) if character == ";"]

    assert sentences(text, (), semicolons) == ["a;", "b. C;", "d"]
    assert sentences(text, [(0, 3)], semicolons) == ["a;b. C;", "d"]
    assert [text[start:end] for start, end in sentence_spans(text, semicolons)] == [
        "a;",
        "b. C;",
        "d",
    ]
    assert [text[start:end] for start, end in sentence_spans(text)] == ["a;b.", "C;d"]


@pytest.mark.parametrize("ends", [[3, 1], [-1], [99]])
def test_a_splitter_returns_places_in_the_text(ends):
    with pytest.raises(InvalidInputError, match="places from 0 to 8 in order"):
        sentences("a;b. C;d", (), lambda _: ends)


def test_a_pipeline_of_spacy_splits():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer", config={"punct_chars": [";"]})
    assert sentences("One; two. Three", (), spacy_sentences(nlp)) == ["One;", "two. Three"]


PIECES = [
    "a",
    "B ",
    ". ",
    " . ",
    "! ",
    "\u200b",
    "\n",
    "• ",
    "1. ",
    "ii) ",
    "(",
    ") ",
    "。",
    "г. ",
    "5 ",
    "“",
    "” ",
]
PIECES += ["i.", "app. ", ";", ": ", "'' ", "»"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_sentences_hold_all_that_is_seen(text):
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) for end in ends)
    spans = block_sentences(text)
    at = 0
    for start, end in [*spans, (len(text), len(text))]:
        assert at <= start <= end <= len(text)
        assert not text[at:start].strip(" \n\u200b•")
        at = end
