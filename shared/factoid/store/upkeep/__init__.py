"""What keeps a store in order: checks, repair, compaction, statistics and tuning."""
