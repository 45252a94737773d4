"""What leaves a store and comes into it: exports and imports, merges, copies, and stores elsewhere."""
