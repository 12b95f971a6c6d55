"""Noise calibrated to a sensitivity and a budget, each mechanism with its proof note beside it."""

from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import AdditiveNoise, Mechanism
from tacit.mechanisms.repetition import Repetition
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.mechanisms.spherical import SphericalLaplace

__all__ = [
    "AdditiveNoise",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Repetition",
    "SparseVector",
    "SphericalLaplace",
]
