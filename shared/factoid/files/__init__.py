"""Files: those of users and how they become documents; writing whole or not at all; opening SQLite."""
