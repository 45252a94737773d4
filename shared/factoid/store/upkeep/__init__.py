"""Maintain a store: checks, repair, compaction, statistics and tuning."""
