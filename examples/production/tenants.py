"""Tenants in one store, by a filter, or each in a store of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from stores import OpenStores

from factoid import Document, UnitStore
from factoid.filters import All, Comparison, Operator, Tree, parse_filter

KEY = "tenant"  # of the metadata
_NAME = re.compile(
    r"[a-z0-9][a-z0-9-]{0,62}"
)  # no slash or dot, since names are parts of ids and of paths


def check_tenant(name: object) -> str:
    """Return the name of a tenant.

    Raises:
        ValueError: It is not a name: a filter would take a list for alternatives, and None for
            documents without a tenant.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"a tenant is named by lower-case letters, digits and hyphens, got {name!r}"
        )
    return name


def only(tenant: str, more: Mapping[str, Any] | None = None) -> Tree:
    """Return a filter that lets through the documents of a tenant.

    Of these, it lets through what the tenant's own filter does.
    """
    of_tenant = Comparison(KEY, Operator.EQ, check_tenant(tenant))
    if more is None:
        return of_tenant
    return All((of_tenant, parse_filter(more)))


def owned(tenant: str, document: Document) -> Document:
    """Return a document as a tenant's: its id is no other tenant's.

    The service has the last word on whose it is.
    """
    document_id = f"{check_tenant(tenant)}/{document.id}"
    return replace(document, id=document_id, metadata={**document.metadata, KEY: tenant})


class TenantStores:
    """A store for each tenant, for tenants that must not learn anything of each other.

    Args:
        folder: Holds a folder for each tenant.
        open_store: Opens a store; give all the same encoder object, so that its model is in memory
            once.
        limit: How many stores stay open.
    """

    def __init__(
        self, folder: Path, open_store: Callable[[Path], UnitStore], *, limit: int = 50
    ) -> None:
        self._folder = folder
        self._stores = OpenStores(open_store, limit=limit)

    @contextmanager
    def borrow(self, tenant: str) -> Iterator[UnitStore]:
        """Yield the store of a tenant."""
        with self._stores.borrow(self._folder / check_tenant(tenant)) as store:
            yield store

    def close(self) -> None:
        """Close the stores."""
        self._stores.close()
