"""Redirects, followed as one by one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.articles import Article, ArticleStore, Redirect, build_articles
from tests.entities.articles.records import Listed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "articles.sqlite"


def built(path, records, **options):
    report = build_articles(path, Listed(records), **options)
    return report, ArticleStore(path)


@pytest.mark.parametrize("length", [1, 2, 3, 31, 32, 33, 500])
def test_chains_of_redirects(path, length):
    chain = [Redirect(f"Way {n}", f"Way {n + 1}") for n in range(length - 1)] + [Redirect(f"Way {length - 1}", "Goal")]
    report, store = built(path, [*chain, Article("Goal", "there")])
    with store:
        assert (report.redirects, report.dangling, report.circular) == (length, 0, 0)
        assert {store.resolve(redirect.name).title for redirect in chain} == {"Goal"}


def followed(redirects, titles):
    """Follow redirects one by one: an article goes before a redirect, and the first of a name before others."""
    first = {}
    for name, target in redirects:
        first.setdefault(name, target)
    ends = Counter()
    resolved = []
    for name, target in redirects:
        seen = set()
        at = target
        while at not in titles and at in first and at not in seen:
            seen.add(at)
            at = first[at]
        ends["article" if at in titles else "circle" if at in seen else "nothing"] += 1
        resolved.append((name, None if at in seen else at))
    return ends, resolved


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ABCDEFGHIJ"), st.sampled_from("ABCDEFGHIJ")), max_size=25),
    st.sets(st.sampled_from("ABCJ")),
)
def test_redirects_as_followed_one_by_one(tmp_path_factory, redirects, titles):
    path = tmp_path_factory.mktemp("redirects") / "a"
    records = [Redirect(*pair) for pair in redirects] + [Article(title, "x") for title in [*sorted(titles), "End"]]
    report, store = built(path, records)
    ends, resolved = followed(redirects, titles)
    with store:
        assert (report.redirects, report.circular, report.dangling) == (
            ends["article"],
            ends["circle"],
            ends["nothing"],
        )
        for name, title in resolved:
            found = {each.title for each in store.names([name.lower()]).get(name.lower(), [])}
            assert title not in titles or title in found
        for name in dict(resolved):
            ways = {title for other, title in resolved if other == name}
            inside = {name} & titles or ways & titles
            if len(inside) < 2:
                assert store.title_of(name) in (inside or ways)
            else:
                assert store.title_of(name) is None


def test_redirects_out_of_the_store(path):
    _, store = built(
        path, [Redirect("USB stick", "usb drive"), Redirect("usb drive", "Flash memory"), Article("End", "x")]
    )
    with store:
        assert [store.title_of(name) for name in ("USB_stick", "usb stick", "Usb drive")] == ["Flash memory"] * 3
        assert (store.get("USB stick"), "USB stick" in store, store.stats().outside) == (None, False, 2)
        assert (store.title_of("End"), store.title_of("end"), store.title_of("Flash memory")) == ("End", "End", None)
