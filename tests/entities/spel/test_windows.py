"""Windows and their merging, rule by rule, and against the procedure as it is described: with an overlap that is pending."""

from __future__ import annotations

from random import Random

import pytest

from factoid.entities.spel.resolve import Prediction
from factoid.entities.spel.windows import merge_windows, windows

OUTSIDE = Prediction((0, 9), (0.9, 0.1))


def one(entity, probability=0.5):
    return Prediction((entity,), (probability,))


@pytest.mark.parametrize(
    ("count", "spans"),
    [
        (2, [(0, 2)]),
        (234, [(0, 234)]),
        (235, [(0, 235), (234, 235)]),  # the second lies within the first
        (254, [(0, 254), (234, 254)]),
        (255, [(0, 254), (234, 255)]),
        (500, [(0, 254), (234, 488), (468, 500)]),
    ],
)
def test_windows_of_254_tokens_begin_every_234(count, spans):
    assert [(part.start, part.stop) for part in windows(count)] == spans


def merge(count, earlier, later, *, around=0):
    """Merge two windows: the predictions of their overlap as given, all others of one entity."""
    parts = list(windows(count))
    first = [one(around)] * len(parts[0])
    first[len(first) - len(earlier) :] = earlier
    second = [*later, *[one(around)] * (len(parts[1]) - len(later))]
    return merge_windows([first, second])


def overlap(**at):
    """Return twenty predictions of no entity, but for those at some places."""
    return [at.get(f"t{place}", one(0)) for place in range(20)]


def test_one_window_is_kept_as_it_is():
    predictions = [one(at) for at in range(200)]
    assert merge_windows([predictions]) == predictions


def test_the_first_tokens_of_the_first_window_and_all_outside_overlaps_are_kept():
    first, second = [one(at) for at in range(254)], [one(at) for at in range(234, 300)]
    assert [each.best for each in merge_windows([first, second])] == list(range(300))


def test_where_the_earlier_window_says_outside_the_later_is_taken():
    merged = merge(300, overlap(t3=OUTSIDE), overlap(t3=one(7, 0.1)))
    assert merged[234 + 3] == one(7, 0.1)


def test_where_the_later_window_says_outside_the_earlier_is_taken():
    merged = merge(300, overlap(t3=one(7, 0.1)), overlap(t3=OUTSIDE))
    assert merged[234 + 3] == one(7, 0.1)


def test_where_both_agree_the_earlier_is_taken():
    merged = merge(300, overlap(t3=one(7, 0.1)), overlap(t3=one(7, 0.9)))
    assert merged[234 + 3] == one(7, 0.1)


def test_where_they_differ_the_one_that_the_left_neighbour_has_is_taken():
    earlier, later = overlap(t3=one(7), t4=one(7, 0.1)), overlap(t3=one(7), t4=one(8, 0.9))
    assert merge(300, earlier, later)[234 + 4] == one(7, 0.1)


def test_where_they_differ_the_one_that_the_right_neighbour_may_be_is_taken():
    earlier, later = overlap(t4=one(7, 0.1), t5=one(7)), overlap(t4=one(8, 0.9), t5=one(7))
    assert merge(300, earlier, later)[234 + 4] == one(7, 0.1)
    # of a neighbour that is open itself, both count, and the later window goes first
    earlier, later = overlap(t4=one(7, 0.9), t5=one(6, 0.2)), overlap(t4=one(8, 0.1), t5=one(8, 0.1))
    assert [each.best for each in merge(300, earlier, later)[238:240]] == [8, 8]


def test_where_neighbours_say_nothing_the_more_probable_is_taken():
    assert merge(300, overlap(t4=one(7, 0.6)), overlap(t4=one(8, 0.5)))[234 + 4] == one(7, 0.6)
    assert merge(300, overlap(t4=one(7, 0.4)), overlap(t4=one(8, 0.5)))[234 + 4] == one(8, 0.5)


def test_a_window_shorter_than_the_overlap_is_aligned_to_its_end():
    earlier = overlap(**{f"t{at}": one(7) for at in range(20)})
    merged = merge(240, earlier, [one(8, 0.9)] * 6)  # tokens 234 … 239; the first window ends with them
    assert [each.best for each in merged[220:234]] == [7] * 14
    assert len(merged) == 240
    assert merge(240, overlap(), [one(8)] * 6)[234:] == [one(8)] * 6


def test_a_window_of_forty_tokens_gives_all_after_the_overlap():
    later = [*overlap(), *[one(8)] * 20]
    merged = merge(274, overlap(), later)
    assert merged[254:] == [one(8)] * 20


def described(parts):
    """Merge windows as the description goes: a list that grows, and an overlap that is pending until the next window."""
    emitted, pending = [], []
    for number, window in enumerate(parts):
        window = list(window)
        if number == 0:
            emitted += [(each,) for each in window[:20]]
            rest = window[20:]
        else:
            first, rest = window[:20], window[20:]
            kept = len(pending) - len(first)  # a shorter one is aligned to the overlap's end
            emitted += [(each,) for each in pending[:kept]]
            for previous, new in zip(pending[kept:], first, strict=True):
                if previous.best == 0:
                    emitted.append((new,))
                elif new.best in (0, previous.best):
                    emitted.append((previous,))
                else:
                    emitted.append((new, previous))
        pending = []
        if len(window) > 40:
            pending = rest[-20:]
            rest = rest[:-20]
        emitted += [(each,) for each in rest]
    emitted += [(each,) for each in pending]
    resolved = []
    for at, options in enumerate(emitted):
        right = [each.best for each in emitted[at + 1]] if at + 1 < len(emitted) else []
        choice = None
        for option in options:
            if (resolved and option.best == resolved[-1].best) or option.best in right:
                choice = option
                break
        if choice is None:
            choice = options[0]
            if len(options) == 2 and options[1].probabilities[0] > options[0].probabilities[0]:
                choice = options[1]
        resolved.append(choice)
    return resolved


@pytest.mark.parametrize(
    "count", [2, 20, 40, 41, 233, 234, 235, 253, 254, 255, 273, 274, 275, 468, 469, 488, 489, 508, 1000]
)
def test_against_the_procedure_of_the_description(count):
    chance = Random(count)
    for _ in range(20):
        parts = [[one(chance.choice([0, 0, 1, 2, 3]), chance.random()) for _ in part] for part in windows(count)]
        assert merge_windows(parts) == described(parts)
