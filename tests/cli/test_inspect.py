from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("jinja2")


@pytest.fixture
def store(run, docs, tmp_path):
    code, _, err = run("index", docs, "--store", tmp_path / "ships", "-q")
    assert code == 0, err
    return tmp_path / "ships"


def test_a_page_without_a_search_box(run, store, tmp_path):
    file = tmp_path / "page.html"
    code, out, err = run("inspect", store, "--output", file)
    assert (code, out, err) == (0, f"wrote {file}\n", "")
    html = file.read_text(encoding="utf-8")
    assert "<title>ships</title>" in html
    assert "John Burland straightened it." in html
    assert "<form" not in html


def test_one_document(run, store, tmp_path):
    from factoid import UnitStore

    with UnitStore(store, encoder=None, read_only=True) as opened:
        [document_id] = {
            unit.document_id for unit in opened.get(opened.ids()) if "Vasa" in unit.text
        }
    file = tmp_path / "page.html"
    assert run("inspect", store, "--output", file, "--document", document_id)[0] == 0
    assert "Burland" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--document", "x"], "--document chooses what is written: name a file with --output"),
        (["--output", "{folder}"], "is a folder: name a file to write"),
        (["--output", "{folder}/p.html", "--document", "x"], "the store holds no document 'x'"),
        (["--port", "70000"], "--port must be from 0 to 65535, got 70000"),
    ],
)
def test_errors_are_one_line(run, store, tmp_path, arguments, message):
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    code, out, err = run("inspect", store, *filled)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_no_store(run, tmp_path):
    code, _, err = run("inspect", tmp_path / "none", "--output", tmp_path / "p.html")
    assert (code, "Make one with: factoid index" in err) == (1, True)


SERVE = """
import sys
from factoid.cli import main
from factoid.testing import HashEncoder
import factoid.encode
factoid.encode.SentenceTransformerEncoder = lambda _name: HashEncoder()
sys.exit(main(["inspect", sys.argv[1]]))
"""


def test_it_serves_until_it_is_interrupted(store):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        line = process.stdout.readline()
        [url] = re.findall(
            r"serving ships at (http://127\.0\.0\.1:\d+/[\w-]{20,}/) until Ctrl-C", line
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        page = (
            opener.open(f"{url}search?q=Who+straightened+the+tower%3F", timeout=60).read().decode()
        )
        assert "John Burland straightened it." in page
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.strip()) == (0, "")
    finally:
        process.kill()
        process.wait()
