"""What a store does when documents are in another language than English."""

from __future__ import annotations

import logging

import pytest

from factoid import Document, SyntaxPropositionizer, UnitStore
from factoid.store.language import detect_language
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.vectors.terms import Terms

TEXTS = {
    "en": "The tower of Pisa has been leaning since it was built. It was begun in 1173, and the work took nearly two "
    "hundred years, since it was interrupted by wars several times. Today it is one of the best known buildings of "
    "the world, and it is visited by many people.",
    "de": "Der Turm von Pisa neigt sich seit dem Bau. Er wurde im Jahr 1173 begonnen, und die Arbeiten dauerten fast "
    "zweihundert Jahre, da sie wegen der Kriege mehrmals unterbrochen wurden. Heute ist er eines der bekanntesten "
    "Bauwerke der Welt und wird von vielen Menschen besucht.",
    "fr": "La tour de Pise penche depuis sa construction. Elle a été commencée en 1173 et les travaux ont duré près de "
    "deux siècles, car ils ont été interrompus plusieurs fois par les guerres. Elle est l'un des monuments les plus "
    "connus du monde et elle est visitée par beaucoup de gens.",
    "es": "La torre de Pisa se inclina desde que fue construida. Se comenzó en 1173 y las obras duraron casi doscientos "
    "años, porque fueron interrumpidas varias veces por las guerras. Hoy es uno de los edificios más conocidos del "
    "mundo y la visitan muchas personas.",
    "it": "La torre di Pisa pende da quando è stata costruita. È stata iniziata nel 1173 e i lavori sono durati quasi "
    "duecento anni, perché sono stati interrotti più volte dalle guerre. Oggi è uno degli edifici più conosciuti del "
    "mondo ed è visitata da molte persone.",
    "ru": "Пизанская башня наклоняется со времени её постройки. Она была начата в 1173 году, и работы продолжались почти "
    "двести лет, так как они несколько раз прерывались из-за войн. Сегодня это одно из самых известных зданий мира, и "
    "его посещают многие люди, которые приезжают в Пизу.",
    "ja": "ピサの斜塔は建設以来傾いている。1173年に着工され、戦争のために何度も中断されたので、工事はほぼ二百年続いた。"
    "今日では世界で最も有名な建物の一つである。",
    "zh": "比萨斜塔自建造以来就一直倾斜。它始建于一一七三年，由于战争多次中断，工程持续了近两百年。今天它是世界上最著名的"
    "建筑之一，每年有很多人参观。这座塔的高度约为五十六米。",
    "ar": "يميل برج بيزا منذ بنائه. بدأ العمل فيه في القرن الثاني عشر، واستمر قرابة مئتي عام لأن الحروب أوقفته مرات عدة.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_running_text_tells_its_language(code):
    assert detect_language([TEXTS[code]]) == code
    sentences = TEXTS[code].split(". ")
    assert detect_language(sentences) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Pisa 1173",
        "Turm von Pisa",
        " ".join(f"x{number} = f(y{number})" for number in range(300)),
        "alpha beta gamma delta " * 100,
        f"{TEXTS['en']} {TEXTS['de']}",
    ],
)
def test_of_other_text_nothing_is_said(text):
    assert detect_language([text]) == ""


class English(HashEncoder):
    def __init__(self):
        super().__init__()
        self.name = "all-MiniLM-L6-v2"


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_it_is_said_once_what_was_made_for_english(caplog):
    with UnitStore(encoder=English()) as store:
        store.add_documents([Document(TEXTS["de"])])
        store.add_documents([Document(TEXTS["de"] + " Ende.")])
        [message] = warnings(caplog)
        assert message.startswith(
            "these documents look German, and this was made for English: SyntaxPropositionizer"
        )
        assert "all-MiniLM-L6-v2" in message
        store.add_documents([Document(TEXTS["fr"])])
        assert "look French" in warnings(caplog)[1]


def test_what_is_multilingual_is_not_mentioned(caplog):
    scripted = ScriptedPropositionizer(lambda passage: [passage.text])
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document(TEXTS["de"])], propositionizer=scripted)
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents([Document(TEXTS["de"])])
    with UnitStore(encoder=English()) as store:
        store.add_documents([Document(TEXTS["en"])])
        store.add_documents([Document("Turm von Pisa")])
    assert warnings(caplog) == []
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document(TEXTS["de"])], propositionizer=SyntaxPropositionizer())
    assert "encoder" not in warnings(caplog)[0]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_words_of_an_empty_store_are_stemmed_in_the_language(tmp_path, asynchronous):
    path = tmp_path / "store"
    with UnitStore(path, encoder=HashEncoder(), granularities=["passage"]) as store:
        assert store.search("Arbeit", 1) == []  # its index of words is there, and empty
        if asynchronous:
            await store.aadd_documents([Document(TEXTS["de"], id="de")])
        else:
            store.add_documents([Document(TEXTS["de"], id="de")])
        store.add_documents([Document(TEXTS["fr"], id="fr")])
        found = [
            hit.unit.document_id for hit in store.search("Unterbrechen Arbeit Mensch", 1, lexical=1)
        ]
        assert found == ["de"]
    # German stems, and not English ones, bring these words together.
    assert set(Terms("de").of_text("Arbeit Mensch")) <= set(Terms("de").of_text(TEXTS["de"]))
    assert not set(Terms("en").of_text("Arbeit Mensch")) & set(Terms("en").of_text(TEXTS["de"]))
    with UnitStore(path, encoder=HashEncoder(), read_only=True) as store:
        assert store.opened.settings.language == "de"


def test_a_named_language_and_that_of_a_filled_store_stay(tmp_path):
    with UnitStore(encoder=HashEncoder(), granularities=["passage"], language="sv") as store:
        store.add_documents([Document(TEXTS["de"])])
        assert store.opened.settings.language == "sv"
    with UnitStore(tmp_path / "s", encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents([Document(TEXTS["en"])])
        store.add_documents([Document(TEXTS["de"])])
        assert store.opened.settings.language == "en"
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents([Document(TEXTS["ja"])])  # there is no stemmer
        assert store.opened.settings.language == ""
