"""Campaigns run twice: a few cases in every test run, and all of them where slow tests are run as
well.
"""

from __future__ import annotations

import pytest

from tests.faults.worker import ENVIRONMENT


@pytest.fixture(autouse=True, scope="package")
def one_thread_a_search():
    """Search with one thread, here and in other processes: stores are small, and the machine is
    shared.
    """
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "PYTHONPATH"):
            patch.setenv(name, ENVIRONMENT[name])
        yield
    faiss.omp_set_num_threads(before)


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "all"])
def few(request):
    """Return a function that leaves a few of many cases where slow tests are not run."""
    return (
        (lambda cases: list(cases))
        if request.param
        else (lambda cases: list(cases)[:: max(1, len(cases) // 4)])
    )
