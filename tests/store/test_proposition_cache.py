"""A store on disk keeps what costly propositionizers return: killed, edited, shared, failed for a time."""

from __future__ import annotations

import pytest

from factoid import Document, UnitStore
from factoid.propositions import NoPropositions, PropositionCache
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.store.content import rows, state, unordered


class Costly(ScriptedPropositionizer):
    name = "costly@1"
    costly = True

    def __init__(self, script=lambda passage: [f"{passage.text.split('.')[0]}."]):
        super().__init__(script)

    @property
    def asked(self):
        return sum(len(call) for call in self.calls)


def document(number, extra=""):
    text = f"Town {number} lies on hill {number}.\n\nIts river is number {number}.{extra}\n\nIt burned in 1{number:03}."
    return Document(text, title=f"Town {number}", id=f"doc{number}")


def opened(path):
    return UnitStore(path, encoder=HashEncoder())


def add(path, propositionizer, documents, **options):
    with opened(path) as store:
        return store.add_documents(
            documents, min_words=0, propositionizer=propositionizer, **options
        )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store"


def test_an_edited_document_asks_for_its_changed_passages_only(path):
    costly = Costly()
    report = add(path, costly, [document(number) for number in range(100)])
    assert (report.documents, costly.asked, report.decomposition.cached) == (100, 300, 0)
    earlier = len(costly.calls)
    edited = [document(number, " It is long." if number == 5 else "") for number in range(101)]
    report = add(path, costly, edited)
    assert (report.documents, report.unchanged) == (2, 99)
    new = ["Its river is number 5. It is long.", *document(100).text.split("\n\n")]
    assert [passage.text for call in costly.calls[earlier:] for passage in call] == new
    assert report.decomposition.cached == 2
    assert_like_one_without_cache(path, edited, Costly())


def assert_like_one_without_cache(path, documents, propositionizer):
    with opened(path) as store, opened(None) as plain:
        plain.add_documents(documents, min_words=0, propositionizer=propositionizer)
        assert unordered(state(store))[0] == unordered(state(plain))[0]


def test_in_memory_and_for_cheap_propositionizers_nothing_is_kept(path):
    costly = Costly()
    with opened(None) as store:
        for words in (100, 60):
            store.add_documents([document(1)], words=words, min_words=0, propositionizer=costly)
    assert costly.asked == 6
    add(path, CHEAP, [document(1)])
    with opened(path) as reader:  # which a cache that is made meanwhile does not disturb
        assert not has_cache(path)
        assert add(path, costly, [document(1), document(2)]).documents == 2
        assert reader.counts()["passage"] == 6
    assert has_cache(path)


CHEAP = ScriptedPropositionizer(lambda passage: [passage.text])


def has_cache(path):
    return bool(rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'propositions'"))


def test_a_cache_may_be_shared_by_stores(path, tmp_path):
    costly = Costly()
    documents = [document(number) for number in range(3)]
    cache = PropositionCache(tmp_path / "shared")
    for number, shared in enumerate([cache, cache.path, str(cache.path)]):
        report = add(tmp_path / str(number), costly, documents, cache=shared)
        assert report.decomposition.cached == (9 if number else 0)
    assert (costly.asked, cache.count(), has_cache(tmp_path / "0")) == (9, 9, False)
    assert add(path, CHEAP, documents, cache=tmp_path / "shared").decomposition.cached == 0
    assert (
        add(tmp_path / "p", CHEAP, documents, cache=tmp_path / "shared").decomposition.cached == 9
    )
    # Another store's folder is a cache as well: the way to another encoder.
    assert add(tmp_path / "a", costly, documents).decomposition.cached == 0
    assert add(tmp_path / "b", costly, documents, cache=tmp_path / "a").decomposition.cached == 9


def test_a_document_that_failed_for_a_time_is_tried_again(path):
    def script(passage):
        down = passage.text == "Its river is number 1."
        return NoPropositions("timed out", transient=True) if down else [passage.text]

    documents = [document(0), document(1)]
    for expected in ((2, 0, 6), (1, 1, 1)):
        flaky = Costly(script)
        report = add(path, flaky, documents)
        assert (report.documents, report.unchanged, flaky.asked) == expected
        assert (report.decomposition.transient, report.decomposition.failures) == (
            1,
            {"timed out": 1},
        )
    mended = Costly(lambda passage: [passage.text])
    report = add(path, mended, documents)
    assert (report.documents, mended.asked, report.decomposition.failed) == (1, 1, 0)
    assert add(path, mended, documents).unchanged == 2


def test_lasting_failures_are_left_alone_until_they_are_to_be_retried(path):
    failing = Costly(
        lambda passage: (
            NoPropositions("refusal") if "burned" in passage.text else ["Napoleon came."]
        )
    )
    documents = [document(number) for number in range(3)]
    add(path, failing, documents[:2])
    assert add(path, failing, documents[:2]).unchanged == 2
    add(
        path, Costly(lambda passage: [passage.text, "Napoleon came."]), documents[2:]
    )  # unsupported, but not failed
    better = Costly(lambda passage: [passage.text])
    assert add(path, better, documents).unchanged == 3
    with opened(path) as store:
        hits = store.search("Town 1", k=3)
        assert store.retry_failures() == 2
        assert store.search("Town 1", k=3) == hits
        report = store.add_documents(documents, min_words=0, propositionizer=better)
        assert (report.documents, report.unchanged, better.asked) == (2, 1, 2)
        assert store.retry_failures() == 0
