"""Build past one machine: corpora into shards of units with their vectors, and shards into stores.

`factoid.scale.shards` holds the format that both halves share; nothing but `ray=` needs Ray.
"""

from factoid.scale.building import BuildReport, build
from factoid.scale.folders import Folder
from factoid.scale.load import LoadReport, load_shards
from factoid.scale.on_ray import RayOptions
from factoid.scale.shards import (
    Failure,
    Manifest,
    Shard,
    ShardContent,
    read_manifest,
    read_shards,
    write_shard,
)

__all__ = [
    "BuildReport",
    "Failure",
    "Folder",
    "LoadReport",
    "Manifest",
    "RayOptions",
    "Shard",
    "ShardContent",
    "build",
    "load_shards",
    "read_manifest",
    "read_shards",
    "write_shard",
]
