"""The same store behind LangChain's async retriever: `uvicorn langchain_app:app`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from langchain_core.embeddings import Embeddings
from tenants import only

from factoid import SentenceTransformerEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever


def make_embeddings() -> Embeddings:
    """Return the embeddings with which the store was built."""
    return EncoderEmbeddings(SentenceTransformerEncoder())


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the store when the worker starts, and close it when the last request has ended."""
    with MultiGranularFAISS(
        make_embeddings(), path=os.environ["FACTOID_STORE"], read_only=True
    ) as store:
        app.state.retriever = MultiGranularRetriever(store=store, k=4, parents="passage")
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/answers")
async def answers(request: Request, question: str, tenant: str) -> list[dict[str, Any]]:
    """Return passages; `tenant` comes from authentication, as in app.py."""
    retriever: MultiGranularRetriever = request.app.state.retriever
    documents = await retriever.ainvoke(question, filter=only(tenant))
    return [{"text": document.page_content, **document.metadata} for document in documents]
