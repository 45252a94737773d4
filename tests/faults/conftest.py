"""Searches of one thread each: the stores are small, and the machine is shared by the processes of a test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="package")
def one_thread_a_search():
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)
