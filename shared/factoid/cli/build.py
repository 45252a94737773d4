"""`factoid build`: build a corpus into shards, here or on Ray."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from factoid.cli import options as opts
from factoid.cli.index import read_granularities, read_keys
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import parse_json
from factoid.terminal import count, plain
from factoid.units import whole_number

if TYPE_CHECKING:
    from factoid.scale import BuildReport, RayOptions

_SHOWN = 5  # failures


def build(
    inputs: Annotated[
        list[str],
        argument(
            "INPUT",
            "Files, folders or addresses such as s3://bucket/*.jsonl: what factoid index reads, "
            "compressed JSON lines, Parquet with a column text, MediaWiki dumps (.xml, .bz2) and "
            "KILT's knowledge source.",
        ),
    ],
    out: Annotated[
        str,
        option(
            "DIR",
            "Folder or address for the shards; a build that was interrupted goes on.",
            default=False,
        ),
    ],
    granularities: Annotated[
        str, option("LIST", "Granularities that get vectors.")
    ] = "passage,proposition",
    embed_template: Annotated[
        str,
        option(
            "TEXT",
            "Template of the text to embed, with metadata keys as further fields.",
            default="{title} — {section}: {text}",
        ),
    ] = "auto",
    embed_metadata: Annotated[
        str | None,
        option("LIST", "Metadata keys whose values are embedded before the text."),
    ] = None,
    late_chunking: Annotated[
        bool,
        option(
            None,
            "Embed sentences and propositions in one pass with their passage.",
            "--late-chunking",
        ),
    ] = False,
    paper_passages: Annotated[
        bool,
        option(None, "Never join short paragraphs, as Dense X Retrieval.", "--paper-passages"),
    ] = False,
    shard_characters: Annotated[
        int, option("N", "A shard ends with the document that brings it to N characters.")
    ] = 1_000_000,
    most_characters: Annotated[
        int, option("N", "Leave out documents of more than N characters, and record them.")
    ] = 10_000_000,
    ray: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Run on Ray Data: local starts it on this machine, auto and HOST:PORT name a cluster.",
        ),
    ] = None,
    workers: Annotated[int, option("N", "With --ray: how many workers.")] = 2,
    cpus: Annotated[
        float | None,
        option("NUMBER", "With --ray: CPUs of a worker.", default="a share of all but half a CPU"),
    ] = None,
    gpus: Annotated[float, option("NUMBER", "With --ray: GPUs of a worker, such as 1 or 0.5.")] = 0,
    storage_options: Annotated[
        str | None,
        option("JSON", "What fsspec takes for the addresses, such as '{\"anon\": true}'."),
    ] = None,
    *,
    reading: opts.Reading,
    splitting: opts.Splitting,
    unsupported: opts.Unsupported = "drop",
    cache: opts.CacheFile = None,
    encoder: opts.EncoderName = None,
    output: opts.Output,
) -> None:
    """Build files into shards of passages, sentences and propositions with their vectors.

    Run the same command again to go on after an interruption.
    """
    from factoid import scale

    report = scale.build(
        inputs,
        out,
        encoder=partial(opts.make_encoder, encoder),
        granularities=read_granularities(granularities) or (),
        propositionizer=partial(opts.make_propositionizer, splitting),
        words=whole_number("--words", splitting.words),
        join_paragraphs=not paper_passages,
        unsupported=unsupported,
        embed_template=embed_template,
        embed_metadata=read_keys(embed_metadata),
        late_chunking=late_chunking,
        cache=cache,
        shard_characters=shard_characters,
        most_characters=most_characters,
        limits=reading.limits,
        follow_links=reading.follow_links,
        storage_options=_options(storage_options),
        ray=_ray(ray, workers, cpus, gpus),
        progress=output.progress,
    )
    if output.as_json:
        opts.print_json(asdict(report))
    else:
        _print_report(report, out)
    if report.failures:
        _refuse(report)


def _options(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    options = parse_json(text)
    if not isinstance(options, dict):
        raise InvalidInputError(f"--storage-options must be a JSON object, got {text!r:.100}")
    return options


def _ray(address: str | None, workers: int, cpus: float | None, gpus: float) -> RayOptions | None:
    from factoid.scale import RayOptions

    if address is None:
        return None
    named = None
    if address != "local":
        named = address
    return RayOptions(address=named, workers=workers, cpus=cpus, gpus=gpus)


def _print_report(report: BuildReport, out: str) -> None:
    """Print what there is, what was made now, and the sizes of units as Table 1 has them."""
    from factoid.evaluate.reproduce.tables import beside_published

    print(
        f"{out} holds {count(report.documents, 'document')} in {count(report.shards, 'shard')} "
        f"({report.new_shards:,} made now, in {report.seconds:.1f} s)"
    )
    if report.replaced:
        print(f"{count(report.replaced, 'document')} replaced by a later one with the same id")
    if report.decomposition.passages:
        print(report.decomposition)
    if report.units:
        print()
        print(beside_published("dense-x", "Table 1", report.statistics()).to_markdown())


def _refuse(report: BuildReport) -> None:
    """Raise an error that names the documents that were left out, or the first of them."""
    lines = []
    for failure in report.failures[:_SHOWN]:
        lines.append(plain(f"{failure.place}: {failure.error}"))
    if len(report.failures) > _SHOWN:
        lines.append("the manifests of the shards name the others")
    left_out = count(len(report.failures), "document")
    raise UnreadableFileError(f"{left_out} left out; all others are built: {'; '.join(lines)}")
