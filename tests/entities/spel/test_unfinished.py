"""What is left of folders that were never finished, where nothing can be locked."""

from __future__ import annotations

import os
import time

import pytest

from factoid.entities.spel import unfinished


def test_without_locks_only_what_is_old_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "_LOCKS", False)
    young, old = (tmp_path / f"model.{digit * 32}.part" for digit in "ab")
    for part in (young, old):
        part.mkdir()
        (part / "file").write_text("text")
        os.utime(part, (0, 0))  # the files tell, too
    os.utime(old / "file", (time.time() - 7200,) * 2)
    with unfinished.unfinished(tmp_path / "model") as part:
        (part / "file").write_text("text")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "model", young])


def test_what_raises_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), unfinished.unfinished(tmp_path / "sub" / "model") as part:
        (part / f"{1 / 0}").touch()
    assert list((tmp_path / "sub").iterdir()) == []


def test_a_folder_that_holds_something_is_not_replaced(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OSError, match=r"not empty|exist"), unfinished.unfinished(tmp_path) as part:
        part.touch()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert not part.exists()
