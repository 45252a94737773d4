"""`factoid articles`: what an article store holds, and what a name finds in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from factoid.commands.options import print_json
from factoid.entities.articles import ArticleStore, NameKind, first_words, name_key
from factoid.errors import InvalidInputError
from factoid.terminal import count, plain, wrap

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "see what an article store holds, or look a name up in it"

_MOST = 20  # names that a list shows


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("path", metavar="PATH", help="the article store")
    parser.add_argument("title", nargs="?", metavar="TITLE", help="a title, redirect or alias (default: show counts)")
    parser.add_argument("--words", type=int, default=100, metavar="N", help="first words to show (default: 100)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    with ArticleStore(args.path) as store:
        if args.title is None:
            _show_stats(store, as_json=args.json)
        else:
            _show_article(store, args)


def _show_stats(store: ArticleStore, *, as_json: bool) -> None:
    stats = store.stats()
    if as_json:
        print_json(asdict(stats))
        return
    rows = {
        "articles": f"{stats.articles:,}",
        **{f"names: {kind}": f"{number:,}" for kind, number in stats.names.items()},
        "redirects out of it": f"{stats.outside:,}",
        "links read": f"{stats.links:,}",
        "words kept": f"{stats.words:,}",
        "bytes": f"{stats.bytes:,}",
    }
    for name, value in rows.items():
        print(f"{name:<20}{value:>16}")
    for source in stats.sources:
        print(f"built from {plain(source)}")


def _show_article(store: ArticleStore, args: Namespace) -> None:
    key = name_key(args.title)
    names, article = store.names([key]).get(key, []), store.get(args.title)
    if not names:
        title = store.title_of(args.title)
        message = f"{args.path} knows nothing of the name {args.title!r}"
        if title is not None:
            message = f"{args.title!r} redirects to {title!r}, which is not in {args.path}"
        raise InvalidInputError(message)
    if args.json:
        text = article and first_words(article.text, args.words)
        shown = article and {"title": article.title, "text": text, "metadata": dict(article.metadata)}
        listed = [{**asdict(name), "kind": name.kind.name.lower()} for name in names]
        print_json({"article": shown, "names": listed})
        return
    if article is not None:
        print(plain(article.title), wrap(plain(first_words(article.text, args.words))), sep="\n\n")
        print()
    print(f"{plain(args.title)!r} names:")
    for name in names[:_MOST]:
        links = f", {count(name.count, 'link')}" if name.count else ""
        print(f"  {plain(name.title)} ({_KINDS[name.kind]}{links})")
    if len(names) > _MOST:
        print(f"  and {count(len(names) - _MOST, 'other')}")


_KINDS = {
    NameKind.TITLE: "its title",
    NameKind.REDIRECT: "a redirect",
    NameKind.ALIAS: "an alias",
    NameKind.UNACCENTED: "without its accents",
    NameKind.ANCHOR: "text of links",
    NameKind.BASE: "its title without what tells it apart",
}
