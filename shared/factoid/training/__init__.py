"""Train propositionizers and rankers of one's own.

Nothing else in factoid imports this room but its commands.
"""
