from __future__ import annotations

import unicodedata
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.articles.names import name_key
from factoid.entities.linkers import titles
from factoid.entities.linkers.spellings import respelled_keys, singulars
from factoid.entities.linkers.titles import TitleLinker
from factoid.errors import InvalidInputError
from tests.entities.linkers.stores import links, make_store

TITLES = """Zynga|The Who|Who|It|Will (law)|Will Smith|Yahoo!|Yahoo|Who Framed Roger Rabbit|AC/DC|.NET|C++
C (programming language)|C Sharp|St. Louis|Seine-Saint-Denis|Denis|Terry Pratchett|Going Postal|Barack Obama|Steam engine
Long Way|On Broadway|Broadway|Ken Barlow|Coronation Street|The Lord of the Rings|1984|65daysofstatic|World Health Organization
United States|The Capital|Paris|What Is Love|東京|東京タワー|Beyoncé|Jeopardy!|The Beatles|"Heroes"|Was zählt|!!!|In Flames
Agents of S.H.I.E.L.D. (season 5)|List of rivers of Wales|Rivers|Was|I Know|القاهرة|ירושלים|กรุงเทพ|Why|Why?|Levi's|Levi
First aid|In Paris|A Long Way|In vitro|May|June|At Home
Time (magazine)|TIME|One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve|Ivan|Black Water|Café Müller|NASA""".replace(
    "\n", "|"
)
REDIRECTS = {"Obama": "Barack Obama", "WHO": "World Health Organization", "C#": "C Sharp", "US": "United States"}
REDIRECTS |= {"🚀": "Zynga", "in June": "June"}


pytestmark = pytest.mark.usefixtures("count_as_large")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    options = {"redirects": REDIRECTS, "anchors": [("at first sight", "June", 9)]}
    with make_store(tmp_path_factory.mktemp("s") / "titles", TITLES.split("|"), **options) as store:
        yield store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Zynga?", {"Zynga": "Zynga"}),
        # question words
        ("Who is The Who's drummer?", {"The Who": "The Who"}),
        ("Who is the Who?", {"the Who": "The Who"}),
        ("Who is the author of It?", {"It": "It"}),
        ("Who was Ivan, who wrote It?", {"Ivan": "Ivan"}),
        ("Will Will Smith win?", {"Will Smith": "Will Smith"}),
        ("Will it rain?", {}),
        ("What is it?", {}),
        ("Who directed Who Framed Roger Rabbit?", {"Who Framed Roger Rabbit": "Who Framed Roger Rabbit"}),
        ("Which language was Was zählt written in?", {"Was zählt": "Was zählt"}),
        ("Does the WHO act in the US?", {"WHO": "World Health Organization", "US": "United States"}),
        ("Who sang I Know?", {"I Know": "I Know"}),
        # punctuation
        ("Who founded Yahoo!?", {"Yahoo!": "Yahoo!"}),
        ("Who founded Yahoo?", {"Yahoo": "Yahoo"}),
        ("Is AC/DC from Paris?", {"AC/DC": "AC/DC", "Paris": "Paris"}),
        ("Is .NET older than C++ or C#?", {".NET": ".NET", "C++": "C++", "C#": "C Sharp"}),
        ("Is C a language?", {"C": "C (programming language)"}),
        ("Did John C. Smith build the Statue?", {}),
        ("Where is Seine-Saint-Denis?", {"Seine-Saint-Denis": "Seine-Saint-Denis"}),
        ("Is it Terry Pratchett's Going Postal?", {name: name for name in ("Terry Pratchett", "Going Postal")}),
        ("What is Obama’s age?", {"Obama": "Barack Obama"}),
        ("Who makes Levi’s jeans?", {"Levi’s": "Levi's"}),
        ("Who hosts Jeopardy!", {"Jeopardy!": "Jeopardy!"}),
        ('Who sang "Heroes"?', {'"Heroes"': '"Heroes"'}),
        ("Who sang Why?", {"Why": "Why"}),
        ("Who sang Why??", {"Why?": "Why?"}),
        ("Who plays in !!!?", {"!!!": "!!!"}),
        ("Wow!!! And who is it?", {}),
        ("Who is in Agents of S.H.I.E.L.D. (season 5)?", {name: name for name in TITLES.split("|") if "S.H" in name}),
        ("Where\nis\tSt.\u00a0Louis?", {"St.\u00a0Louis": "St. Louis"}),
        ("Terry\n\nPratchett", {}),
        # capitals
        ("Who invented the steam engine?", {"steam engine": "Steam engine"}),
        ("It was a long way home for Ivan.", {"Ivan": "Ivan"}),  # not the song
        ("Did Ivan drink black water?", {"Ivan": "Ivan"}),
        ("who drinks black water", {"black water": "Black Water"}),
        ("Is In Flames on Broadway?", {"In Flames": "In Flames", "Broadway": "Broadway"}),
        ("Who made the list of rivers of Wales?", {"list of rivers of Wales": "List of rivers of Wales"}),
        ("What is the capital of Paris?", {"Paris": "Paris"}),
        ("What does zynga do in Paris?", {"Paris": "Paris"}),
        ("What does zynga do?", {"zynga": "Zynga"}),
        ("Who owns TIME?", {"TIME": "TIME"}),
        ("Who owns Time?", {"Time": "Time (magazine)"}),
        ("who are the beatles", {"the beatles": "The Beatles"}),
        ("who swam in flames of c", {}),
        ("which rivers does it have", {}),
        ("does it have rivers", {"rivers": "Rivers"}),
        ("who wrote the lord of the rings", {"the lord of the rings": "The Lord of the Rings"}),
        ("WHO FOUNDED ZYNGA?", {"ZYNGA": "Zynga"}),
        # what begins with a function word
        ("Who taught first aid to Ivan?", {"first aid": "First aid", "Ivan": "Ivan"}),
        ("Was it grown in vitro?", {"in vitro": "In vitro"}),
        ("Is it in Paris, Ivan?", {"Paris": "Paris", "Ivan": "Ivan"}),  # not the song
        ("it was a long way", {"a long way": "A Long Way"}),  # no capitals: they tell nothing
        ("It was a long way.", {"a long way": "A Long Way"}),  # nor does that of the first word
        ("Was Ivan at home?", {"Ivan": "Ivan"}),
        ("Is May warmer than June?", {"May": "May", "June": "June"}),
        ("Is it so, and may Ivan come?", {"Ivan": "Ivan"}),
        ("May Ivan come in June?", {"Ivan": "Ivan", "June": "June"}),
        ("Will Ivan come in June?", {"Ivan": "Ivan", "June": "June"}),
        ("Did Ivan see it at first sight?", {"Ivan": "Ivan"}),  # no title
        # numbers
        ("Who was in Paris in 1984?", {"Paris": "Paris"}),
        ("Where was 65daysofstatic founded?", {"65daysofstatic": "65daysofstatic"}),
        # scripts
        ("東京タワーはどこですか", {"東京タワー": "東京タワー"}),
        ("أين تقع القاهرة؟", {"القاهرة": "القاهرة"}),
        ("กรุงเทพอยู่ที่ไหน", {"กรุงเทพ": "กรุงเทพ"}),
        ("Where was Beyonce\u0301 born?", {"Beyonce\u0301": "Beyoncé"}),
        ("😀 Who runs 👍🏽 Zynga 😀?", {"Zynga": "Zynga"}),
        ("Who flies 🚀 home?", {"🚀": "Zynga"}),
        ("", {}),
        (" ?! ", {}),
    ],
)
def test_what_is_linked(store, text, expected):
    assert links(TitleLinker(store), text) == expected


@pytest.mark.parametrize(
    ("lower_case", "expected"),
    [
        ("never", ["", "", "", "Paris"]),
        ("auto", ["zynga", "zynga", "", "Paris"]),
        ("always", ["zynga", "zynga", "zynga", "zynga Paris"]),
    ],
)
def test_single_words_without_capital(store, lower_case, expected):
    linker = TitleLinker(store, lower_case=lower_case)
    texts = ["where does zynga live", "Where does zynga live?", "Does zynga like Oslo?", "Is zynga of Paris?"]
    assert [" ".join(links(linker, text)) for text in texts] == expected


def test_options(store):
    text = "Is it One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve?"
    assert links(TitleLinker(store), text) == {text[6:-1]: text[6:-1]}
    assert links(TitleLinker(store, stop_words=["PARIS"]), "Is Zynga in Paris?") == {"Zynga": "Zynga"}
    assert links(TitleLinker(store, stop_words=[]), "Who founded Zynga?") == {"Who": "Who", "Zynga": "Zynga"}


def test_scores(store):
    linker = TitleLinker(store)

    for question, score in (
        ("Who founded Zynga?", 1.0),
        ("Who likes PARIS?", 0.9),  # other capitals
        ("Who wrote 1984?", 0.5),  # for want of a better
        ("Who is Ivan Petrovsky?", 0.5),  # part of an unknown name
        ("Who owns Time?", 0.75),  # the magazine, if that is meant
        ("Who owns Time, the magazine?", 1.0),
        ("Is Nasa old?", 0.5),  # NASA
        ("Is the Denis-based one old?", 1.0),
    ):
        assert [mention.score for mention in linker.link(question)] == [pytest.approx(score)], question
    text = "Is Ivan Petrovsky in PARIS?"
    assert links(linker, text) == {"Ivan": "Ivan", "PARIS": "Paris"}
    assert links(TitleLinker(store, min_score=0.6), text) == {"PARIS": "Paris"}
    assert links(TitleLinker(store, min_score=1), text) == {}


PIECES = [*TITLES.split("|"), *REDIRECTS, *"who is the in of ' - . ? ! ( ) \n\n , s".split(" ")]


@settings(max_examples=100, deadline=None)
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
        key = name_key(form)
        keys = [key, *singulars(key), *respelled_keys(key, spaces=True)]
        assert mention.title in {name.title for names in store.names(keys).values() for name in names}
    assert linker.link_batch([text, "Zynga", text]) == [linker.link(text), linker.link("Zynga"), linker.link(text)]


def test_given_spans(store):
    linker = TitleLinker(store)
    text = "The Obama's and the zynga of Nobody, and Paris"
    spans = [(0, 11), (16, 25), (29, 35), (41, 46)]
    assert [text[start:end] for start, end in spans] == ["The Obama's", "the zynga", "Nobody", "Paris"]
    linked = [(text[m.start : m.end], m.title) for m in linker.link_spans(text, spans)]
    assert linked == [("Obama", "Barack Obama"), ("zynga", "Zynga"), ("Paris", "Paris")]
    assert linker.link_spans(text, []) == []
    assert linker.link_spans("  ", [(0, 2)]) == []


def test_a_batch_is_one_statement(store, monkeypatch):
    query = Mock(wraps=store._file.query)
    monkeypatch.setattr(store._file, "query", query)
    TitleLinker(store).link_batch(["Did Ken Barlow see Terry Pratchett's Going Postal?", "Is It in Paris?"])
    assert query.call_count == 1
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        TitleLinker(store).link_batch(["a\ud800"])


def test_work_is_linear_in_the_mentions(tmp_path, monkeypatch):
    reads = []
    slot = titles._NamedSpan.span
    read = property(lambda match: reads.append(1) or slot.__get__(match), slot.__set__)
    monkeypatch.setattr(titles._NamedSpan, "span", read)
    with make_store(tmp_path / "s", ["Ivan Petrovsky", "Black Water", "Paris"]) as store:
        costs = []
        for times in (50, 100, 200):
            reads.clear()
            text = "Does Ivan Petrovsky Drink Black Water In Paris Or Not? " * times
            assert len(TitleLinker(store).link(text)) == 3 * times
            costs.append(len(reads))
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower_case": "sometimes"}, "got 'sometimes'"),
        ({"stop_words": "the"}, "got the string 'the'"),
        ({"min_score": 2}, "got 2"),
        ({"encoder": "all-MiniLM-L6-v2"}, "encode_queries and encode_units, got 'all-MiniLM-L6-v2'"),
        ({"store": "articles.sqlite"}, r"got 'articles.sqlite': open .* ArticleStore\(path\)"),
    ],
)
def test_options_that_cannot_be(store, options, message):
    with pytest.raises(InvalidInputError, match=message):
        TitleLinker(**{"store": store, **options})
