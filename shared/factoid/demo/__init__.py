"""The demonstration: what passages, sentences and propositions find, shown and measured on a small encyclopedia."""

from factoid.demo.run import run_demo

__all__ = ["run_demo"]
