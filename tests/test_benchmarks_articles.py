"""The benchmark of article stores: its made-up articles, and that it runs."""

from __future__ import annotations

import sys

import pytest

from factoid.entities.articles import Article

articles = pytest.importorskip("benchmarks.entities.articles", reason="needs the module resource")


def test_made_up_articles_are_the_same_from_anywhere():
    source = articles.Synthetic(1100)
    records = list(source.read())
    assert len(records) == 2200
    for skip in (1, 2, 999, 1000, 1001, 2199, 2200):
        assert list(source.read(skip)) == records[skip:]
    titles = [record.title for record in records if isinstance(record, Article)]
    assert len(set(titles)) == 1100
    assert {target for record in records[::2] for _, target in record.links} <= set(titles)


def test_builds_and_looks_up(tmp_path):
    built = articles.build(tmp_path / "a", 300)
    warm = articles.look_up(tmp_path / "a", 300, cold=False, count=100)
    assert built["bytes"] == (tmp_path / "a").stat().st_size
    table = articles.table(300, built, warm, None)
    assert "300 made-up articles" in table
    assert f"| names | {built['names']:,} |" in table


def test_prints(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(articles, "ProcessPoolExecutor", Here)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: articles -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(sys, "argv", ["articles", "--articles", "200", "--into", str(page), "--folder", str(tmp_path)])
    articles.main()
    out = capsys.readouterr().out
    assert "200 made-up articles" in out
    assert out.strip() in page.read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]


class Here:
    """Runs in this process what the benchmark runs in others."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, call, *arguments, **options):
        self.result = lambda: call(*arguments, **options)
        return self
