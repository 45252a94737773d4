"""Make propositions by syntax.

A dependency parse (`tree`), splitting rules (`clauses`), reference and rendering.
"""

from factoid.propositions.syntax.propositionizer import SyntaxPropositionizer

__all__ = ["SyntaxPropositionizer"]
