"""A store that was emptied and filled anew, with another encoder, while a searcher had it open."""

from __future__ import annotations

import contextlib
import threading

import pytest

from factoid import Document, UnitStore, forks
from factoid.errors import EncoderMismatchError
from factoid.testing import HashEncoder

pytest.importorskip("faiss")


class OtherEncoder(HashEncoder):
    """An encoder of equal dimension with another name."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "another"


def refill(path, encoder):
    with UnitStore(path, encoder=None) as emptied:
        emptied.clear()
    with UnitStore(path, encoder=encoder) as filled:
        filled.add_documents([Document("The olm has no eyes.")])


def test_an_open_searcher_refuses_vectors_of_another_encoder(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as searcher:
        searcher.add_documents([Document("The tower leans.")])
        assert len(searcher.search("tower")) == 1
        refill(tmp_path, OtherEncoder())
        for _ in range(2):
            with pytest.raises(EncoderMismatchError, match="another"):
                searcher.search("tower")
        with pytest.raises(EncoderMismatchError, match="another"):
            searcher.refresh()
        [hit] = searcher.search("eyes", lexical=1)  # words need no encoder
        assert hit.unit.text == "The olm has no eyes."

        refill(tmp_path, HashEncoder())
        assert len(searcher.search("eyes")) == 1


def test_hooks_are_registered_once_by_threads_that_come_together(monkeypatch):
    registered = []
    begun = threading.Barrier(2, timeout=10)
    threads_of = forks._Threads

    def slow_threads():
        # Both threads are here at once unless one waits for the other.
        with contextlib.suppress(threading.BrokenBarrierError):
            begun.wait(timeout=0.5)
        return threads_of()

    monkeypatch.setattr(forks, "_threads", None)
    monkeypatch.setattr(forks, "_Threads", slow_threads)
    monkeypatch.setattr(
        forks.os, "register_at_fork", lambda **hooks: registered.append(hooks), raising=False
    )
    threads = [threading.Thread(target=forks.at_work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registered) == 1
