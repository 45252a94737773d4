"""Shards of what a store holds."""

from __future__ import annotations

from factoid.scale import Folder, write_shard


def write_shards(store, path, documents_each=10, **identity):
    """Write all that a store holds into shards of some documents each, and return their folder."""
    folder = Folder(path)
    folder.make()
    with store.opened.connections.reading() as snapshot:
        ids = snapshot.values("SELECT id FROM documents ORDER BY row")
        made_by = {name: snapshot.meta.get(name) for name in store.opened.identity} | identity
        for number, start in enumerate(range(0, len(ids), documents_each)):
            some = ids[start : start + documents_each]
            by_id = snapshot.documents_by_id(some)
            documents = [by_id[name] for name in some]
            units = list(snapshot.stored_units(some))
            write_shard(folder, f"part-{number:05}", units, documents, identity=made_by)
    return folder
