"""Imported once by the server from which processes are forked: so a worker begins within a millisecond."""

import faiss  # noqa: F401

import tests.faults.verify  # noqa: F401
from tests.faults.operations import prepare

prepare()
