"""A small application over one store, which is opened when it is imported: for WSGI (gunicorn) and ASGI (uvicorn).

`/search` returns the process and what it answers, `/add?7` adds a document.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import traceback

from tests.towns import PROPOSITIONIZER, add, document, hits, opened

QUERY = "Which town lies on hill 3?"
WAYS = (
    {},
    {"lexical": 1},
    {"granularity": "passage", "lexical": 0.5},
    {"granularity": "proposition"},
)
PAUSE = 0.02  # seconds, so that another worker takes the next request

SERVED = "FACTOID_SERVED_STORE"  # the store's folder, in the environment


def answers(store):
    """Return all that searches say, without rounding."""
    return [
        [[hit.unit.id, hit.score, dict(hit.parts)] for hit in hits(store, QUERY, **way)]
        for way in WAYS
    ]


if SERVED in os.environ:
    store = opened(os.environ[SERVED])
    answers(store)  # the workers share the indexes


def answered(path, query):
    """Return the status of a response and its content."""
    try:
        if path == "/add":
            return "200 OK", add(store, int(query)).documents
        content = [os.getpid(), answers(store)]
        time.sleep(PAUSE)
    except Exception:  # noqa: BLE001 - the test shows it
        return "500 Internal Server Error", traceback.format_exc()
    return "200 OK", content


def wsgi(environment, start_response):
    status, content = answered(environment["PATH_INFO"], environment["QUERY_STRING"])
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(content).encode()]


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                store.close()
                return
    query = scope["query_string"].decode()
    if scope["path"] == "/add":
        report = await store.aadd_documents([document(int(query))], propositionizer=PROPOSITIONIZER)
        status, content = "200 OK", report.documents
    else:
        status, content = await asyncio.to_thread(answered, scope["path"], query)
    await send({"type": "http.response.start", "status": int(status[:3]), "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
