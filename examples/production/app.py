"""A web service over a store.

    gunicorn "app:create_app()"                 several workers, with gunicorn.conf.py
    uvicorn --factory app:create_app --workers 2

Settings, in the environment:

    FACTOID_STORE      the store, or the folder into which stores are published
    FACTOID_READ_ONLY  1 for a replica: it adds nothing, and its volume may be read-only
    FACTOID_FOLLOW     seconds between looks for a newly published store; 5 by default
    FACTOID_TOKENS     a JSON file with the tenant of each bearer token
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from stores import Newest
from tenants import check_tenant, only, owned

from factoid import Document, SentenceTransformerEncoder, UnitStore
from factoid.encode import Encoder
from factoid.errors import FactoidError, InvalidInputError, StoreError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the environment names."""

    store: Path
    tenants: Mapping[str, str]  # by token
    read_only: bool = False
    follow: float = 5

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings of this process."""
        tokens = json.loads(Path(os.environ["FACTOID_TOKENS"]).read_text(encoding="utf-8"))
        return cls(
            store=Path(os.environ["FACTOID_STORE"]),
            tenants={token: check_tenant(name) for token, name in tokens.items()},
            read_only=os.environ.get("FACTOID_READ_ONLY") == "1",
            follow=float(os.environ.get("FACTOID_FOLLOW", "5")),
        )


class Question(BaseModel):
    """What a user asks.

    Sizes are bounded here, since one request should not keep a worker busy for long.
    """

    question: str = Field(min_length=1, max_length=2_000)
    k: int = Field(default=5, ge=1, le=50)
    filter: dict[str, Any] | None = None


class Answer(BaseModel):
    """A passage, and the facts in it that match."""

    document: str
    text: str
    start: int
    end: int
    score: float
    facts: list[str]


class NewDocument(BaseModel):
    """A document to add, or to replace under its id."""

    id: str = Field(min_length=1, max_length=500)
    text: str = Field(max_length=1_000_000)
    title: str = ""
    metadata: dict[str, Any] = {}


bearer = HTTPBearer()


def tenant_of(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]
) -> str:
    """Return the tenant whose token a request brings. Nothing else in a request says who asks."""
    settings: Settings = request.app.state.settings
    tenant = ""
    # All tokens are compared, so that time tells nothing about them.
    for token, name in settings.tenants.items():
        if secrets.compare_digest(token.encode(), credentials.credentials.encode()):
            tenant = name
    if not tenant:
        raise HTTPException(401, "unknown token")
    return tenant


Tenant = Annotated[str, Depends(tenant_of)]


def create_app(settings: Settings | None = None, encoder: Encoder | None = None) -> FastAPI:
    """Return the service.

    It opens its store when it starts, or before if `app.state.stores.refresh()` is called.
    """
    chosen = settings or Settings.from_environment()
    model = encoder or SentenceTransformerEncoder()

    def open_store(path: Path) -> UnitStore:
        return UnitStore(path, encoder=model, read_only=chosen.read_only)

    stores = Newest(chosen.store, open_store)

    async def follow() -> None:
        while True:
            await asyncio.sleep(chosen.follow)
            try:
                await asyncio.to_thread(stores.refresh)
            except (FactoidError, OSError):
                logger.exception(
                    "the newest store cannot be opened: the one before is still served"
                )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        await asyncio.to_thread(stores.refresh)
        following = asyncio.create_task(follow())
        yield
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await asyncio.to_thread(stores.close)

    app = FastAPI(lifespan=lifespan)
    app.state.settings = chosen
    app.state.stores = stores

    @app.exception_handler(InvalidInputError)
    async def refuse(request: Request, error: InvalidInputError) -> JSONResponse:
        del request
        return JSONResponse({"detail": str(error)}, status_code=422)

    @app.exception_handler(StoreError)
    async def fail(request: Request, error: StoreError) -> JSONResponse:
        # A full disk, a writer that holds the lock, a damaged file: the log says which and what to
        # do, users need not know.
        logger.error("%s %s: %s", request.method, request.url.path, error)
        return JSONResponse(
            {"detail": "try again later"}, status_code=503, headers={"Retry-After": "30"}
        )

    @app.post("/search")
    def search(
        question: Question, tenant: Tenant
    ) -> list[Answer]:  # no `async`: it runs in a thread
        with stores.borrow() as store:
            hits = store.search(
                question.question, k=question.k, filter=only(tenant, question.filter)
            )
        return [
            Answer(
                document=hit.unit.document_id.removeprefix(f"{tenant}/"),
                text=hit.unit.text,
                start=hit.unit.start,
                end=hit.unit.end,
                score=hit.score,
                facts=[match.unit.text for match in hit.matches],
            )
            for hit in hits
        ]

    @app.get("/live")
    async def live() -> dict[str, int]:
        """Say that the event loop turns. If it does not, restart the process."""
        return {"process": os.getpid()}

    @app.get("/ready")
    def ready() -> dict[str, str | int]:
        """Say that the store can be read, which one it is, and which worker reads it.

        If it cannot, send no requests here.
        """
        with stores.borrow() as store:
            name = store.path.name if store.path else ""
            return {"store": name, "units": len(store), "process": os.getpid()}

    @app.get("/internal/stats")
    def stats() -> dict[str, Any]:
        """Say what the store holds.

        It counts all tenants' documents: do not let a proxy pass it on.
        """
        with stores.borrow() as store:
            return store.stats()

    if not chosen.read_only:

        @app.put("/documents")
        async def add(documents: list[NewDocument], tenant: Tenant) -> dict[str, int]:
            new_documents = [
                Document(document.text, document.title, id=document.id, metadata=document.metadata)
                for document in documents
            ]
            with stores.borrow() as store:
                report = await store.aadd_documents(
                    [owned(tenant, document) for document in new_documents]
                )
            return {"added": report.documents, "unchanged": report.unchanged}

        @app.delete("/documents/{document_id:path}")
        def delete(document_id: str, tenant: Tenant) -> dict[str, int]:
            with stores.borrow() as store:
                return {"units": store.delete(document_ids=[f"{tenant}/{document_id}"])}

    return app
