"""Train a late-interaction model to rank sentences with the token vectors of whole passages (AGRaME, §3.3)."""
