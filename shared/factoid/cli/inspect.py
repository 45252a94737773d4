"""`factoid inspect`: look at what a store holds, and at what a model would receive of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import InvalidInputError


def inspect(
    store: opts.StorePath,
    page: Annotated[
        Path | None,
        option(
            "FILE",
            "Write one HTML file without a search box, and serve nothing.",
            "--output",
            default="serve pages with a search box to this machine",
        ),
    ] = None,
    document: Annotated[
        list[str] | None,
        option("ID", "Only this document in the file; may be repeated.", default="all, up to 5 MB"),
    ] = None,
    pdf: Annotated[
        Path | None,
        option("FILE", "The PDF of which documents came, whose pages are shown with boxes."),
    ] = None,
    port: Annotated[int, option("N", "Where to listen.", default="any free port")] = 0,
    encoder: opts.EncoderName = None,
) -> None:
    """Show documents with their passages, sentences and facts, and what a search finds and why.

    What is doubtful is marked. The pages are served on the loopback address alone, until you press
    Ctrl-C.
    """
    from factoid.report.inspector import Inspector, InspectorServer

    if page is None and document:
        raise InvalidInputError("--document chooses what is written: name a file with --output")
    if page is not None and page.is_dir():
        raise InvalidInputError(f"{page} is a folder: name a file to write")
    if not 0 <= port <= 65535:
        raise InvalidInputError(f"--port must be from 0 to 65535, got {port}")
    loaded_encoder = None
    if page is None:
        loaded_encoder = opts.make_encoder(encoder)
    name = Path(store).name
    with opts.open_store(store, encoder=loaded_encoder, read_only=True) as opened:
        inspector = Inspector(opened, name, pdf=pdf)
        if page is not None:
            inspector.write(page, document)
            print(f"wrote {page}")
            return
        with InspectorServer(inspector, port) as server:
            print(f"serving {name} at {server.url} until Ctrl-C", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print(file=sys.stderr)
