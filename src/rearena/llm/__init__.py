"""Talking to models: one protocol, a client, a store of what was answered, and parsers of the answers."""

from rearena.llm.parsers import parse_verdict

__all__ = ["parse_verdict"]
