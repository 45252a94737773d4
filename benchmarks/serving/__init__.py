"""What serving facts by a vector store takes, measured over shards and extrapolated to
FactoidWiki.
"""
