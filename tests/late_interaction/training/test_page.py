"""The program in docs/late-interaction-training.md prints what the page says, and its tables name what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from factoid.late_interaction.training.examples import _FIELDS
from factoid.late_interaction.training.train import RankerSettings
from tests.late_interaction.tiny_colbert import write_colbert
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/late-interaction-training.md")


def test_the_program_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    [(program, printed)] = PROGRAM.findall(PAGE)
    assert run(program, {}) == printed


def test_every_setting_and_field_is_explained() -> None:
    defaults = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", PAGE, re.MULTILINE))
    fields = {field.name: field.default for field in dataclasses.fields(RankerSettings)}
    assert set(defaults) == set(fields)
    for name, default in fields.items():
        if isinstance(default, float | int):
            assert float(defaults[name]) == default
    assert set(re.findall(r'^\| "(\w+)" \|', PAGE, re.MULTILINE)) == set(_FIELDS)
