from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.articles.names import name_key
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import BatchEntityLinker, EntityLinker, link_all
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from tests.entities.linkers.stores import make_store

TITLES = """Zynga|The Who|Who|It|Will (law)|Will Smith|Yahoo!|Yahoo|Who Framed Roger Rabbit|AC/DC|.NET|C++
C (programming language)|C Sharp|St. Louis|Seine-Saint-Denis|Denis|Terry Pratchett|Going Postal|Barack Obama|Steam engine
Long Way|On Broadway|Broadway|Ken Barlow|Coronation Street|The Lord of the Rings|1984|65daysofstatic|World Health Organization
United States|The Capital|Paris|What Is Love|東京|東京タワー|Beyoncé|Jeopardy!|The Beatles|"Heroes"|Was zählt|!!!|In Flames
Agents of S.H.I.E.L.D. (season 5)|List of rivers of Wales|Rivers|Was|I Know|القاهرة|ירושלים|กรุงเทพ|Why|Why?|Levi's|Levi
Time (magazine)|TIME|One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve|Ivan|Black Water|Café Müller|NASA""".replace(
    "\n", "|"
)
REDIRECTS = {
    "Obama": "Barack Obama",
    "WHO": "World Health Organization",
    "C#": "C Sharp",
    "US": "United States",
    "🚀": "Zynga",
}


@pytest.fixture(autouse=True)
def large(request, monkeypatch):
    """Let the small stores of these tests count as large ones, but for tests of small ones."""
    if "small" not in request.node.name:
        monkeypatch.setattr("factoid.entities.linkers.titles._OWN", 0)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("s") / "titles", TITLES.split("|"), redirects=REDIRECTS) as store:
        yield store


def links(linker, text):
    return {text[mention.start : mention.end]: mention.title for mention in linker.link(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Zynga?", {"Zynga": "Zynga"}),
        ("Zynga", {"Zynga": "Zynga"}),
        # question words
        ("Who is The Who's drummer?", {"The Who": "The Who"}),
        ("Who is the Who?", {"the Who": "The Who"}),
        ("Who is the author of It?", {"It": "It"}),
        ("Who was Ivan, who wrote It?", {"Ivan": "Ivan"}),
        ("Will Will Smith win?", {"Will Smith": "Will Smith"}),
        ("Will it rain?", {}),
        ("What is it?", {}),
        ("Who?", {"Who": "Who"}),
        ("Who directed Who Framed Roger Rabbit?", {"Who Framed Roger Rabbit": "Who Framed Roger Rabbit"}),
        ("Which language was Was zählt written in?", {"Was zählt": "Was zählt"}),
        ("Does the WHO act in the US?", {"WHO": "World Health Organization", "US": "United States"}),
        ("Did they tell us who it is?", {}),
        ("Who sang I Know?", {"I Know": "I Know"}),
        ("Should I go, or should I stay?", {}),
        # punctuation
        ("Who founded Yahoo!?", {"Yahoo!": "Yahoo!"}),
        ("Who founded Yahoo?", {"Yahoo": "Yahoo"}),
        ("Is AC/DC from Paris?", {"AC/DC": "AC/DC", "Paris": "Paris"}),
        ("Is .NET older than C++ or C#?", {".NET": ".NET", "C++": "C++", "C#": "C Sharp"}),
        ("Is C a language?", {"C": "C (programming language)"}),
        ("Did John C. Smith build the Statue?", {}),
        ("Where is St. Louis?", {"St. Louis": "St. Louis"}),
        ("Where is Seine-Saint-Denis?", {"Seine-Saint-Denis": "Seine-Saint-Denis"}),
        (
            "Did they film Terry Pratchett's Going Postal?",
            {"Terry Pratchett": "Terry Pratchett", "Going Postal": "Going Postal"},
        ),
        ("What is Obama's age?", {"Obama": "Barack Obama"}),
        ("What is Obama’s age?", {"Obama": "Barack Obama"}),
        ("Who makes Levi’s jeans?", {"Levi’s": "Levi's"}),
        ("Who hosts Jeopardy!", {"Jeopardy!": "Jeopardy!"}),
        ('Who sang "Heroes"?', {'"Heroes"': '"Heroes"'}),
        ("Who sang Why?", {"Why": "Why"}),
        ("Who sang Why??", {"Why?": "Why?"}),
        ("Who plays in !!!?", {"!!!": "!!!"}),
        ("Wow!!! And who is it?", {}),
        (
            "Who is in Agents of S.H.I.E.L.D. (season 5)?",
            {"Agents of S.H.I.E.L.D. (season 5)": "Agents of S.H.I.E.L.D. (season 5)"},
        ),
        ("Where is (Paris)?", {"Paris": "Paris"}),
        ("Where\nis\tSt.\u00a0Louis?", {"St.\u00a0Louis": "St. Louis"}),
        ("Terry\n\nPratchett", {}),
        # capitals
        ("Who invented the steam engine?", {"steam engine": "Steam engine"}),
        ("It was a long way home for Ivan.", {"Ivan": "Ivan"}),  # not the song
        ("Did Ivan drink black water?", {"Ivan": "Ivan"}),
        ("who drinks black water", {"black water": "Black Water"}),
        ("Is Paris in the US?", {"Paris": "Paris", "US": "United States"}),
        ("Is the play on Broadway?", {"Broadway": "Broadway"}),
        ("Is In Flames on Broadway?", {"In Flames": "In Flames", "Broadway": "Broadway"}),
        ("Who made the list of rivers of Wales?", {"list of rivers of Wales": "List of rivers of Wales"}),
        ("What is the capital of Paris?", {"Paris": "Paris"}),
        ("What does zynga do in Paris?", {"Paris": "Paris"}),
        ("What does zynga do?", {}),
        ("Who owns TIME?", {"TIME": "TIME"}),
        ("Who owns Time?", {"Time": "Time (magazine)"}),
        ("Who owns PARIS and Zynga?", {"PARIS": "Paris", "Zynga": "Zynga"}),
        (
            "who plays ken barlow in coronation street?",
            {"ken barlow": "Ken Barlow", "coronation street": "Coronation Street"},
        ),
        ("who founded zynga", {"zynga": "Zynga"}),
        ("who are the beatles", {"the beatles": "The Beatles"}),
        ("who swam in flames of c", {}),
        ("which rivers does it have", {}),
        ("does it have rivers", {"rivers": "Rivers"}),
        ("who framed roger rabbit", {"who framed roger rabbit": "Who Framed Roger Rabbit"}),
        ("who wrote the lord of the rings", {"the lord of the rings": "The Lord of the Rings"}),
        ("WHO FOUNDED ZYNGA?", {"ZYNGA": "Zynga"}),
        # numbers
        ("Who wrote 1984?", {"1984": "1984"}),
        ("Who was in Paris in 1984?", {"Paris": "Paris"}),
        ("Where was 65daysofstatic founded?", {"65daysofstatic": "65daysofstatic"}),
        # scripts
        ("東京タワーはどこですか", {"東京タワー": "東京タワー"}),
        ("いま東京にいます", {"東京": "東京"}),
        ("أين تقع القاهرة؟", {"القاهرة": "القاهرة"}),
        ("איפה ירושלים?", {"ירושלים": "ירושלים"}),
        ("กรุงเทพอยู่ที่ไหน", {"กรุงเทพ": "กรุงเทพ"}),
        ("Where was Beyonce\u0301 born?", {"Beyonce\u0301": "Beyoncé"}),
        ("😀 Who runs 👍🏽 Zynga 😀?", {"Zynga": "Zynga"}),
        ("Who flies 🚀 home?", {"🚀": "Zynga"}),
        # length
        (
            "Is it One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve?",
            {"One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve": TITLES.split("|")[-5]},
        ),
        ("", {}),
        (" ?! ", {}),
    ],
)
def test_what_is_linked(store, text, expected):
    assert links(TitleLinker(store), text) == expected


def test_names_longer_than_most_words(store):
    text = "Is it One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve?"
    assert links(TitleLinker(store, most_words=11), text) == {}


@pytest.mark.parametrize(
    ("lower_case", "expected"),
    [
        ("never", [{}, {}, {"Paris": "Paris"}]),
        ("auto", [{"zynga": "Zynga"}, {}, {"Paris": "Paris"}]),
        ("alone", [{"zynga": "Zynga"}, {"zynga": "Zynga"}, {"Paris": "Paris"}]),
        ("always", [{"zynga": "Zynga"}, {"zynga": "Zynga"}, {"zynga": "Zynga", "Paris": "Paris"}]),
    ],
)
def test_single_words_without_capital(store, lower_case, expected):
    linker = TitleLinker(store, lower_case=lower_case)
    texts = ["where does zynga live", "Where does zynga live?", "Is zynga in Paris?"]
    assert [links(linker, text) for text in texts] == expected


def test_own_stop_words(store):
    assert links(TitleLinker(store, stop_words=["PARIS"]), "Is Zynga in Paris?") == {"Zynga": "Zynga"}
    assert links(TitleLinker(store, stop_words=[]), "Who founded Zynga?") == {"Who": "Who", "Zynga": "Zynga"}


def test_scores(store):
    linker = TitleLinker(store)

    def score(text):
        (mention,) = linker.link(text)
        return mention.score

    assert score("Who founded Zynga?") == 1.0
    assert score("Who likes PARIS?") == pytest.approx(0.9)  # other capitals
    assert score("Who wrote 1984?") == 0.5  # for want of a better
    assert score("Who is Ivan Petrovsky?") == 0.5  # part of an unknown name
    assert score("Is Marne-Denis old?") == 0.5
    assert score("Who owns Time?") == 0.75  # the magazine, if that is meant
    assert score("Who owns Time, the magazine?") == 1.0
    assert score("Is Nasa old?") == 0.5  # NASA
    assert score("Is the Denis-based one old?") == 1.0


def test_mentions_of_too_low_a_score_are_left_out(store):
    text = "Is Ivan Petrovsky in PARIS?"
    assert links(TitleLinker(store), text) == {"Ivan": "Ivan", "PARIS": "Paris"}
    assert links(TitleLinker(store, min_score=0.6), text) == {"PARIS": "Paris"}
    assert links(TitleLinker(store, min_score=1), text) == {}


@pytest.mark.parametrize(
    "options", [{"most_words": 0}, {"lower_case": "sometimes"}, {"stop_words": "the"}, {"min_score": 2}]
)
def test_options_that_cannot_be(store, options):
    with pytest.raises(InvalidInputError, match=re.escape(str(next(iter(options.values()))))):
        TitleLinker(store, **options)


def test_text_that_cannot_be(store):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        TitleLinker(store).link("a\ud800")
    with pytest.raises(InvalidInputError, match="int"):
        TitleLinker(store).link(3)


PIECES = [*re.split(r"[|]", TITLES), *REDIRECTS, *"who is the in of ' - . ? ! ( ) \n\n , s".split(" ")]


@settings(max_examples=150)
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12),
    st.sampled_from(["", " "]),
    st.sampled_from([str, str.lower, str.upper, lambda text: unicodedata.normalize("NFD", text)]),
)
def test_any_text(store, pieces, between, change):
    text = change(between.join(pieces))
    linker = TitleLinker(store)
    before = 0
    for mention in linker.link(text):
        assert before <= mention.start < mention.end <= len(text)
        before = mention.end
        assert 0 < mention.score <= 1
        assert mention.candidates[0].title == mention.title
        assert sum(candidate.score for candidate in mention.candidates) <= 1 + 1e-9
        form = text[mention.start : mention.end]
        assert form == form.strip()
        assert mention.title in {name.title for name in store.names([name_key(form)])[name_key(form)]}
    assert linker.link_batch([text, "Zynga", text]) == [linker.link(text), linker.link("Zynga"), linker.link(text)]


def test_one_question_is_one_statement(store, monkeypatch):
    statements = []
    query = store._file.query
    monkeypatch.setattr(store._file, "query", lambda *given: statements.append(given) or query(*given))
    TitleLinker(store).link("Did Ken Barlow of Coronation Street ever see Terry Pratchett's Going Postal in St. Louis?")
    assert len(statements) == 1


def test_long_texts(store):
    sentence = "On some days Ivan goes to St. Louis for Agents of S.H.I.E.L.D. (season 5) with his steam engine. "
    text = sentence * 600  # more than 10,000 words
    mentions = TitleLinker(store).link(text)
    assert len(mentions) == 600 * 4
    assert {text[mention.start : mention.end] for mention in mentions[-4:]} == set(links(TitleLinker(store), sentence))


def test_protocols(store):
    linker = TitleLinker(store)
    assert isinstance(linker, BatchEntityLinker)
    accepted: EntityLinker = linker
    assert link_all(accepted, ["Zynga", ""]) == [linker.link("Zynga"), []]


class Answers:
    """An encoder of texts by the first word of a list that they hold."""

    def __init__(self, *words):
        self.words = words
        self.calls = []

    def encode_queries(self, texts):
        return self.encode_units(texts)

    def encode_units(self, texts):
        self.calls.append(list(texts))
        return np.array([[float(word in text) for word in self.words] for text in texts], np.float32)


SEALS = {
    "Seal (animal)": "A seal is an animal of the sea. It eats fish.",
    "Seal (singer)": "Seal is a singer of songs. Fish he does not like.",
    "Seal (stamp)": "A seal marks a letter.",
}


@pytest.fixture
def seals(tmp_path):
    with make_store(tmp_path / "seals", SEALS) as store:
        yield store


def test_ties_are_reported(seals):
    (mention,) = TitleLinker(seals).link("Where does Seal live?")
    assert (mention.title, mention.ambiguous) == ("Seal (animal)", True)
    assert [candidate.title for candidate in mention.candidates] == sorted(SEALS)
    assert [candidate.score for candidate in mention.candidates] == pytest.approx([1 / 3] * 3)


def test_ties_are_broken_by_context(seals):
    encoder = Answers("song", "sea", "letter")
    texts = ["Which song is of Seal?", "Is the Seal on the letter?", "Is a Seal here?"]
    song, letter, nothing = (mentions[0] for mentions in TitleLinker(seals, encoder=encoder).link_batch(texts))
    assert (song.title, song.ambiguous) == ("Seal (singer)", False)
    assert (letter.title, letter.ambiguous) == ("Seal (stamp)", False)
    assert (nothing.title, nothing.ambiguous) == ("Seal (animal)", True)
    assert sum(candidate.score for candidate in song.candidates) == pytest.approx(1)
    assert song.candidates[0].score > song.candidates[1].score
    queries, units = encoder.calls  # each text once
    assert queries == texts
    assert sorted(units) == [
        "Seal (animal). A seal is an animal of the sea.",
        "Seal (singer). Seal is a singer of songs.",
        "Seal (stamp). A seal marks a letter.",
    ]


def test_no_tie_asks_no_encoder(seals):
    encoder = Answers("song")
    TitleLinker(seals, encoder=encoder).link("Where does the singer Seal live?")
    assert encoder.calls == []


def test_hashed_words_break_ties(seals):
    (mention,) = TitleLinker(seals, encoder=HashEncoder()).link("Did Seal write songs?")
    assert mention.title == "Seal (singer)"


ALBANY = ["Albany, New York", "Albany, Georgia", "New York", "Mercury", "Mercury (planet)", "Mercury (disambiguation)"]


@pytest.mark.parametrize(
    ("text", "form", "title"),
    [
        ("Will the Albany in Georgia reach 100,000 before the one in New York?", "Albany", "Albany, Georgia"),
        ("Is it far to Albany (New York)?", "Albany", "Albany, New York"),
        ("How far is the planet Mercury?", "Mercury", "Mercury (planet)"),
        ("Which planets are near Mercury?", "Mercury", "Mercury"),  # "planets" is what is asked for
        ("What did Mercury do?", "Mercury", "Mercury"),
        ("What is Mercury (planet)?", "Mercury (planet)", "Mercury (planet)"),
    ],
)
def test_words_that_tell_one_from_others(tmp_path, text, form, title):
    with make_store(tmp_path / "albany", ALBANY) as store:
        mention = next(m for m in TitleLinker(store).link(text) if text[m.start : m.end] == form)
    assert (mention.title, mention.ambiguous) == (title, False)


def test_pages_of_disambiguation_are_no_candidates(tmp_path):
    with make_store(tmp_path / "albany", ALBANY) as store:
        (mention,) = TitleLinker(store).link("What did Mercury do?")
    assert [candidate.title for candidate in mention.candidates] == ["Mercury", "Mercury (planet)"]


def test_kinds_of_names(tmp_path):
    titles = ["Rom", "A", "B", "Rom (x)"]
    for left in range(4):  # the best kind is taken out, one after the other
        redirects = {"ROM": "A"} if left < 2 else {}
        aliases = [("rom", "B")] if left < 3 else []
        with make_store(tmp_path / str(left), titles[left > 0 :], redirects=redirects, aliases=aliases) as store:
            (mention,) = TitleLinker(store, lower_case="always").link("rom")
        assert [candidate.title for candidate in mention.candidates] == titles[left:]
        assert not mention.ambiguous
        scores = [candidate.score for candidate in mention.candidates]
        assert scores == sorted(set(scores), reverse=True)
        assert sum(scores) == pytest.approx(1)


def test_counts_of_links_decide(tmp_path):
    anchors = [("Apple", "Apple", 3), ("Apple", "Apple Inc.", 90), ("apple", "Apple Inc.", 6)]
    with make_store(tmp_path / "apples", ["Apple", "Apple Inc."], anchors=anchors) as store:
        (mention,) = TitleLinker(store).link("Who leads Apple?")
    assert (mention.title, mention.ambiguous) == ("Apple Inc.", False)
    assert mention.candidates[0].score == pytest.approx(97 / 108)  # 96 links and its own name, of 3 links and a title


def test_few_links_are_little_trusted(tmp_path):
    anchors = [("Bard", "Shakespeare", 1), ("Swan", "Shakespeare", 9)]
    with make_store(tmp_path / "bards", ["Shakespeare"], anchors=anchors) as store:
        few, many = TitleLinker(store).link("Is the Bard older than the Swan?")
    assert few.score == pytest.approx(1 / 2)
    assert many.score == pytest.approx(9 / 10)


def test_equal_counts_are_a_tie(tmp_path):
    anchors = [("the Bard", title, 5) for title in ("Shakespeare", "Burns")]
    with make_store(tmp_path / "bards", ["Shakespeare", "Burns"], anchors=anchors) as store:
        (mention,) = TitleLinker(store).link("Where did the Bard live?")
    assert (mention.title, mention.ambiguous) == ("Burns", True)


def test_given_spans(store):
    linker = TitleLinker(store)
    text = "The Obama's and the zynga of Nobody, and Paris"
    spans = [(0, 11), (16, 25), (29, 35), (41, 46)]
    assert [text[start:end] for start, end in spans] == ["The Obama's", "the zynga", "Nobody", "Paris"]
    found = [(text[m.start : m.end], m.title) for m in linker.link_spans(text, spans)]
    assert found == [("Obama", "Barack Obama"), ("zynga", "Zynga"), ("Paris", "Paris")]
    assert linker.link_spans(text, []) == []
    assert linker.link_spans("  ", [(0, 2)]) == []


GLOSSARY = ["Duty Cycle", "impeller", "Switch", "Assembly line", "Purchase Order", "Gas"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is an impeller?", {"impeller": "impeller"}),
        ("Did Anna approve the purchase order?", {"purchase order": "Purchase Order"}),
        ("Are duty cycles of impellers long?", {"duty cycles": "Duty Cycle", "impellers": "impeller"}),
        ("how do switches and assembly lines differ", {"switches": "Switch", "assembly lines": "Assembly line"}),
        ("Is a gas a ga?", {"gas": "Gas"}),
        ("Is it so?", {}),
    ],
)
def test_in_small_stores_names_need_no_capital(tmp_path, question, expected):
    with make_store(tmp_path / "glossary", GLOSSARY) as store:
        assert links(TitleLinker(store), question) == expected
        assert links(TitleLinker(store, lower_case="always"), question) == expected


def test_plurals_in_lower_case_also_in_large_stores(store):
    linker = TitleLinker(store)
    assert links(linker, "Do steam engines need water, Ivan?") == {"steam engines": "Steam engine", "Ivan": "Ivan"}
    (mention,) = linker.link("Do steam engines need water?")
    assert mention.score == 0.9
    assert links(linker, "Who are the Ivans?") == {}


def test_a_redirect_that_differs_in_case_is_a_spelling(tmp_path):
    with make_store(tmp_path / "s", ["Steam Engine", "Ivan"], redirects={"Steam engine": "Steam Engine"}) as store:
        assert links(TitleLinker(store), "Does Ivan own a steam engine?") == {
            "Ivan": "Ivan",
            "steam engine": "Steam Engine",
        }
