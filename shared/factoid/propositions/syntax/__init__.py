"""Make propositions by syntax.

The steps are a dependency parse (`tree`), splitting rules (`clauses`), reference and rendering.
"""

from factoid.propositions.syntax.propositionizer import SyntaxPropositionizer

__all__ = ["SyntaxPropositionizer"]
