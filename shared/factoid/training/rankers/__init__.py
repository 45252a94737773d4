"""Train a late-interaction model to rank sentences (AGRaME, §3.3).

It ranks them with the token vectors of whole passages.
"""
