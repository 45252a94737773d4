"""Move data out of a store and into it: exports and imports, merges, copies, and remote stores."""
