"""A late-interaction model trained to rank sentences with the token vectors of whole passages (AGRaME, §3.3)."""
