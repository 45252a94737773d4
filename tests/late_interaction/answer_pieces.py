"""Pieces of answers whose sentences are hard to tell."""

PIECES = "Anna ¦sang. ¦Dr. ¦B¦(c¦). ¦`x.¦` ¦\n¦\n\n¦- ¦# ¦```\n¦3.5 ¦[1]¦! ¦。¦「¦」".split("¦")
PIECES += [
    '"',
    "| ",
    "e.g. ",
    "?",
    "**",
    "<b>",
    "    ",
    "[2, 3] ",
    "(http://a.b)",
    "🙂",
    "\r\n",
    "~~~",
    "1. ",
]
