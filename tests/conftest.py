"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on the machine and on what is compiled in it, not on the code alone.
settings.register_profile("rearena")
settings.load_profile("rearena")
