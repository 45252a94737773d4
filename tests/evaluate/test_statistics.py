from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.evaluate.statistics import (
    Difference,
    difference,
    holm,
    interval,
    not_worse,
    questions_needed,
    recommend,
    smallest_difference,
)

stats = pytest.importorskip("scipy.stats")


def simulated(generator, documents, of_each, rates):
    """Whether each setting answers each question, as rates say; documents differ in difficulty."""
    difficulty = np.repeat(generator.normal(0, 0.15, documents), of_each)
    chances = np.clip(np.array(rates)[:, None] - difficulty, 0, 1)
    right = generator.random((len(rates), documents * of_each)) < chances
    return right.astype(float), np.repeat(np.arange(documents), of_each).astype(str).tolist()


def test_against_scipy_where_each_question_is_a_document():
    generator = np.random.default_rng(3)
    one = generator.normal(0.3, 1, 60)
    other = generator.normal(0, 1, 60)
    found = difference(one, other, [str(n) for n in range(60)])
    test = stats.permutation_test(
        (one - other,),
        np.mean,
        permutation_type="samples",
        n_resamples=9999,
        rng=np.random.default_rng(1),
    )
    assert found.p == pytest.approx(test.pvalue, abs=0.01)
    expected = stats.bootstrap(
        (one - other,), np.mean, method="percentile", rng=np.random.default_rng(1)
    )
    low, high = expected.confidence_interval
    widening = stats.t.ppf(0.975, 59) / stats.norm.ppf(0.975) * np.sqrt(60 / 59)
    assert found.mean == pytest.approx((one - other).mean())
    assert found.low == pytest.approx(found.mean - widening * (found.mean - low), abs=0.03)
    assert found.high == pytest.approx(found.mean + widening * (high - found.mean), abs=0.03)


@pytest.mark.parametrize("groups", [4, 5, 10, 30, 300])
def test_widening_is_students(groups):
    from factoid.evaluate.statistics import _widening

    quantile = stats.t.ppf(0.975, groups - 1) / stats.norm.ppf(0.975)
    assert _widening(groups) == pytest.approx(quantile * np.sqrt(groups / (groups - 1)), rel=0.03)


def test_signs_of_few_documents_are_all_tried():
    one, other = [1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0]
    found = difference(one, other, list("aabbcd"))
    # Sums by document are 2, 1, 1, 1: of 16 signs, two give as much.
    assert found.p == 2 / 16
    assert (found.wins, found.losses, found.ties) == (5, 0, 1)


def test_no_difference():
    assert difference([1, 0], [1, 0], ["a", "b"]) == Difference(0.0, 0.0, 0.0, 1.0, 0, 0, 2)


@pytest.mark.parametrize(
    "values", [[0.01, 0.04, 0.03], [0.5, 0.5], [0.001], [0.04, 0.001, 0.2, 0.03]]
)
def test_holm_against_its_definition(values):
    expected = []
    for value in values:
        smaller = [other for other in values if other <= value]
        steps = [
            min(1, (len(values) - sum(x < other for x in values)) * other) for other in smaller
        ]
        expected.append(max(steps))
    assert holm(values) == pytest.approx(expected)


def test_the_cheapest_setting_that_is_not_worse():
    generator = np.random.default_rng(0)
    right, groups = simulated(generator, 100, 3, [0.9, 0.88, 0.5])
    values = dict(zip(["dear", "cheap", "poor"], right, strict=True))
    found = recommend(values, groups, {"dear": 3, "cheap": 2, "poor": 1})
    assert found.setting == "cheap"
    assert found.level == ("cheap", "dear")
    assert found.difference is None or found.difference.low < 0 < found.difference.high
    assert recommend({"one": right[0]}, groups, {"one": 1}).difference is None


def test_coverage_of_intervals_over_documents():
    generator = np.random.default_rng(1)
    covered, alarms = 0, 0
    runs = 200
    for _ in range(runs):
        right, groups = simulated(generator, 25, 4, [0.6, 0.6])
        found = difference(right[0], right[1], groups)
        covered += found.low <= 0 <= found.high
        alarms += found.p <= 0.05
    assert covered / runs >= 0.93
    assert alarms / runs <= 0.065  # 5 %, and less than one standard deviation of 200 runs


def test_questions_of_a_document_are_not_independent():
    generator = np.random.default_rng(2)
    effects = np.repeat(generator.normal(0, 1, 20), 30)
    values = effects + generator.normal(0, 0.1, 600)
    by_document = interval(values, np.repeat(np.arange(20), 30).astype(str).tolist())
    by_question = interval(values, [str(n) for n in range(600)])
    assert by_document[1] - by_document[0] > 3 * (by_question[1] - by_question[0])


def test_false_alarms_of_the_recommendation():
    """Of six settings that are equally good, the cheapest is called worse in at most 5 % of the
    runs.
    """
    generator = np.random.default_rng(4)
    names = list("abcdef")
    alarms = 0
    runs = 200
    for _ in range(runs):
        right, groups = simulated(generator, 30, 3, [0.6] * 6)
        alarms += not_worse(dict(zip(names, right, strict=True)), groups)["a"] <= 0.05
    assert alarms / runs <= 0.065


@pytest.mark.slow
def test_a_thousand_simulations():
    """Intervals cover, and alarms are false, as often as they say, within two standard deviations
    of chance.
    """
    generator = np.random.default_rng(7)
    runs = 1000
    counts = np.zeros(3)
    for _ in range(runs):
        right, groups = simulated(generator, 40, 3, [0.65] * 8)
        found = difference(right[0], right[1], groups)
        rejected = not_worse(dict(zip("abcdefgh", right, strict=True)), groups)["a"] <= 0.05
        counts += [found.low <= 0 <= found.high, found.p <= 0.05, rejected]
    covered, alarms, rejections = counts / runs
    assert covered >= 0.936
    assert alarms <= 0.064
    assert rejections <= 0.064


def test_a_clear_loss_is_seen():
    generator = np.random.default_rng(5)
    right, groups = simulated(generator, 60, 3, [0.8, 0.6, 0.8])
    found = not_worse(dict(zip("abc", right, strict=True)), groups)
    assert found["b"] <= 0.01
    assert min(found["a"], found["c"]) > 0.05


def test_the_smallest_difference_is_found_in_four_of_five_cases():
    shown = smallest_difference(400, 0.2)
    generator = np.random.default_rng(6)
    seen = 0
    for _ in range(300):
        gains = generator.choice([1, -1, 0], 400, p=[0.1 + shown / 2, 0.1 - shown / 2, 0.8])
        seen += abs(gains.mean()) > 1.96 * gains.std() / 20
    assert seen / 300 == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize(("documents", "of_each"), [(50, 1), (25, 4)])
def test_the_needed_questions_show_the_difference_in_four_of_five_cases(documents, of_each):
    """A pilot's differences, shared by questions of a document, and studies as large as it
    suggests.
    """
    generator = np.random.default_rng(8)

    def gains(count):
        shared = np.repeat(generator.normal(0, 0.5, count), of_each)
        return 0.1 + shared + generator.normal(0, 0.5, count * of_each)

    pilot = gains(20_000)
    groups = np.repeat(np.arange(20_000), of_each).astype(str).tolist()
    needed = questions_needed(pilot, [0.0] * len(pilot), groups)
    count = round(needed / of_each)
    seen = 0
    for _ in range(400):
        sums = gains(count).reshape(count, of_each).sum(axis=1)
        seen += stats.ttest_1samp(sums, 0).pvalue <= 0.05
    assert seen / 400 == pytest.approx(0.8, abs=0.06)
    assert questions_needed([1.0, 0.0], [1.0, 0.0], ["a", "b"]) is None


def test_errors():
    with pytest.raises(InvalidInputError, match="same questions"):
        difference([1], [1, 2], ["a"])
    with pytest.raises(InvalidInputError, match="as many groups"):
        difference([1, 2], [1, 2], ["a"])
    with pytest.raises(InvalidInputError, match="at least one setting"):
        recommend({}, [], {})
