"""`factoid mcp`: serve stores to agents over the Model Context Protocol."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.entities import EntityRetriever
    from factoid.late_interaction import PropCite

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def mcp(
    stores: Annotated[
        list[str],
        argument(
            "STORE",
            "Stores that factoid index made; several with names, as in notes=path law=path.",
        ),
    ],
    condition: opts.Filter = None,
    cite: Annotated[
        str | None,
        option(
            "MODEL",
            "Offer the tool cite, with a late-interaction model by name or folder, or with the "
            "encoder's own token vectors: tokens.",
        ),
    ] = None,
    articles: Annotated[
        str | None,
        option("FILE", "Offer the tool look_up, over articles that factoid build-articles made."),
    ] = None,
    write: Annotated[
        bool, option(None, "Offer tools that add and delete documents.", "--write")
    ] = False,
    http: Annotated[
        bool, option(None, "Serve over streamable HTTP instead of stdio.", "--http")
    ] = False,
    host: Annotated[
        str, option("NAME", "With --http: the address to listen at. There is no password.")
    ] = LOOPBACK[0],
    port: Annotated[int, option("N", "With --http: the port.", min=1, max=65535)] = 8000,
    encoder: opts.EncoderName = None,
) -> None:
    """Serve stores to agents, as an MCP server: search, read, list, cite and look up.

    It is read-only unless --write is given. A --filter holds in every call.
    """
    from factoid._optional import require

    require("mcp", extra="mcp")
    from factoid.mcp import Served, make_server

    paths = _named(stores)
    server_filter = opts.read_object("--filter", condition)
    model = opts.make_encoder(encoder)
    with ExitStack() as opened:
        by_name = {}
        for name, path in paths.items():
            store = opts.open_store(path, encoder=model, read_only=not write)
            by_name[name] = opened.enter_context(store)
        server = make_server(
            Served(
                stores=by_name,
                filter=server_filter,
                citer=_citer(cite, encoder),
                entities=_entities(articles, server_filter),
                write=write,
            )
        )
        if not http:
            server.run("stdio")
            return
        if host not in LOOPBACK:
            print(
                f"factoid: everybody who reaches {host}:{port} may read these stores: let a proxy "
                "ask for a password",
                file=sys.stderr,
            )
        shown_host = f"[{host}]" if ":" in host else host
        print(f"factoid: serving MCP at http://{shown_host}:{port}/mcp", file=sys.stderr)
        server.run("streamable-http", host=host, port=port, stateless_http=True)


def _named(stores: list[str]) -> dict[str, str]:
    """Return the paths of stores by their names; one store may go without a name."""
    if len(stores) == 1 and "=" not in stores[0]:
        return {"store": stores[0]}
    paths: dict[str, str] = {}
    for store in stores:
        name, equals, path = store.partition("=")
        if not equals or name in paths:
            raise InvalidInputError(
                f"name each of several stores, as in notes=path law=path: got {store!r}"
            )
        paths[name] = path
    return paths


def _citer(model: str | None, encoder: str | None) -> PropCite | None:
    if model is None:
        return None
    from factoid.late_interaction import LateInteractionEncoder, PropCite

    if model == "tokens":
        return PropCite(LateInteractionEncoder(encoder, projection=False))
    return PropCite(model)


def _entities(path: str | None, condition: dict[str, Any] | None) -> EntityRetriever | None:
    if path is None:
        return None
    from factoid.entities import EntityRetriever

    return EntityRetriever(path, filter=condition)
