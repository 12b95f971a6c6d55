"""Mechanisms on a grid coarse enough to sum over every integer that matters."""

import copy

from tacit.mechanisms import Mechanism

__all__ = ["coarse"]


def coarse(mechanism: Mechanism, grid: float) -> Mechanism:
    """Return the mechanism as its own code would calibrate it, had it chosen this grid."""
    twin = copy.copy(mechanism)
    twin.__dict__.pop("units", None)
    twin.__dict__["grid"] = grid
    return twin
