"""Four papers on evaluating language models by preference, re-run claim by claim.

The package is imported room by room (``rearena.data``, ``rearena.ranking``, ``rearena.evaluation``,
``rearena.reporting``); importing ``rearena`` itself loads nothing heavy.
"""

__version__ = "0.1.0"
