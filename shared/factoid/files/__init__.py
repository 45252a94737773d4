"""Files: reading users' files as documents, atomic writes, and opening SQLite."""
