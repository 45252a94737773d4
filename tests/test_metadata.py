"""Metadata of any Python values as JSON holds them."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.metadata import hit_fields, plain_metadata
from factoid.units import Granularity, Hit, Unit

CHANGED = [  # values, and what they become
    (datetime.date(2020, 1, 2), "2020-01-02"),
    (datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC), "2020-01-02T03:04:00+00:00"),
    (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    (PurePosixPath("a/b"), "a/b"),
    (Decimal("9.5"), 9.5),
    (Decimal("sNaN"), None),
    (Decimal("1e5000"), None),
    ((1, "a"), [1, "a"]),
    ({"b", "a"}, ["a", "b"]),
    (float("nan"), None),
    (np.int64(3), 3),
    (np.array([1.5, 2.5]), [1.5, 2.5]),
    (Enum("Kind", {"BIRD": "bird"}).BIRD, "bird"),
    ({"seen": [datetime.date(2021, 1, 1)]}, {"seen": ["2021-01-01"]}),
]


@pytest.mark.parametrize(("value", "stored"), CHANGED)
def test_values_that_json_cannot_hold_are_converted(value, stored):
    assert plain_metadata({"key": value}) == {"key": stored}


def test_values_that_json_holds_stay():
    given = {"plain": ["x", None, True, 2**70, 0.5, {"a": {}}]}
    assert plain_metadata(given) == given
    assert plain_metadata(given)["plain"] is not given["plain"]


@pytest.mark.parametrize("value", [object(), {1: "a"}, [b"bytes"]])
def test_values_without_a_counterpart_are_refused(value):
    with pytest.raises(InvalidInputError, match="'key'"):
        plain_metadata({"key": value})


def test_fields_of_a_hit():
    def unit(own, start, end):
        return Unit(own, f"text of {own}", Granularity.SENTENCE, "d", "p", start, end)

    first, second, nowhere = unit("a", 0, 5), unit("b", 6, 9), unit("c", 0, 0)
    match = Hit(second, 0.5, neighbours=(second, first))
    entry = {"text": "text of b", "id": "b", "granularity": "sentence", "from": 6, "to": 9}
    fields = hit_fields(Hit(first, 1.0, (match, Hit(nowhere, 0.25)), (first,)), "from", "to")
    assert fields["matches"][0] == entry | {"score": 0.5}
    assert (fields["matches"][1]["from"], fields["matches"][1]["to"]) == (None, None)
    assert [found["id"] for found in fields["neighbours"]] == ["a", "b"]
    assert fields["neighbours"][1] == entry
    assert hit_fields(Hit(first, 1.0, (match,)), "from", "to", matches=False).keys() == {
        "neighbours"
    }
    assert hit_fields(Hit(first, 1.0), "from", "to") == {}
