"""Known-broken algorithms, kept as code so that the auditor can be seen to catch them. Never use them on records."""

from tacit.audit.case import Audited
from tacit.audit.exhibits.additive import (
    float_noise,
    laplace_deviation,
    lecture_least_squares,
    shared_noise,
    unregularised_intercept,
)
from tacit.audit.exhibits.exhibit import Exhibit
from tacit.audit.exhibits.objective import nips2008, wrong_norm
from tacit.audit.exhibits.streams import sparse_vector, tdil

__all__ = ["EXHIBITS", "Exhibit"]

_RIDGE = ("n_lambda",)
# What is wrong with each, its own docstring says.
EXHIBITS = tuple(
    Exhibit(must_reach, Audited(f"exhibit-{name}", build, options, delta))
    for name, must_reach, build, options, delta in (
        ("nips2008", 2.5, nips2008, _RIDGE, 0.0),
        ("wrong-norm", 3.0, wrong_norm, _RIDGE, 0.0),
        ("laplace-deviation", 1.2, laplace_deviation, (), 0.0),
        ("lecture-least-squares", 5.0, lecture_least_squares, (), 0.0),
        ("intercept", 5.0, unregularised_intercept, _RIDGE, 0.0),
        ("shared-noise", 6.0, shared_noise, (), 0.0),
        ("sparse-vector", 2.0, sparse_vector, (), 0.0),
        ("tdil", 3.0, tdil, (), 1e-6),
        ("float-noise", 5.0, float_noise, (), 0.0),
    )
)
"""Every exhibit; `must_reach` is for a claimed epsilon of 1."""
