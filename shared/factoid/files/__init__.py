"""Files: reading users' files as documents, atomic writes, limits, and opening SQLite."""
