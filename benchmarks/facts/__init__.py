"""How many of the facts are true that the syntax propositionizer writes itself."""
