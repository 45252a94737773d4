"""Random metadata, and random filter trees on it."""

from __future__ import annotations

from hypothesis import strategies as st

from factoid.filters import All, AnyOf, Comparison, Not, Operator

KEYS = st.sampled_from(
    ["a", "a", "b", "é", "q\"uo'te", "a.b", "x$.a", "", "A", "row", "😀", "); DROP--", "a\0b", "\ud800"]
)
BORDERS = [2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2**63, 2.0**63, 2**64 + 1, 2.0**64]
NUMBERS = st.integers(-3, 3) | st.sampled_from(
    [0.1, 0.1 + 0.2, 1.0, -0.0, 1e300, 5e-324, int(1e300), -(10**400), *BORDERS]
)
ODD_STRINGS = ["a\0b", "a\0", "a\ud800", "z" * 256, "z" * 257, "é" * 129, "z" * 256 + "a"]
STRINGS = st.sampled_from([*"abBéÉ😀1%", "", "ab", "true", "[1,2]", '{"a":1}', "x' OR '1'='1", *ODD_STRINGS])
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS
LISTS = st.lists(SCALARS, max_size=3) | st.sampled_from([[1] * 65, list("ab") * 40])
VALUES = (
    SCALARS | LISTS | st.dictionaries(st.sampled_from("ab"), SCALARS | LISTS, max_size=2) | st.lists(LISTS, max_size=2)
)
METADATA = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=6)

TAKE_LISTS = [Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL]
OTHERS = sorted(set(Operator) - {Operator.EXISTS, *TAKE_LISTS})
ORDERS = [Operator.GT, Operator.GTE, Operator.LT, Operator.LTE]
COMPARISONS = st.one_of(
    st.builds(Comparison, KEYS, st.sampled_from(OTHERS), VALUES),
    st.builds(Comparison, KEYS, st.sampled_from(TAKE_LISTS), SCALARS | LISTS),
    st.builds(Comparison, KEYS, st.sampled_from(ORDERS), NUMBERS | STRINGS),
    st.builds(Comparison, KEYS, st.sampled_from(TAKE_LISTS), LISTS),
    st.builds(Comparison, KEYS, st.just(Operator.EXISTS), st.booleans()),
)
TREES = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.builds(All, st.lists(inner, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=6,
)
