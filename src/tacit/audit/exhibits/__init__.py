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
EXHIBITS = tuple(
    Exhibit(mistake, must_reach, Audited(f"exhibit-{name}", build, options, delta))
    for name, mistake, must_reach, build, options, delta in (
        ("nips2008", "the 2008 algorithm below n lambda = 2R^2/epsilon: no Jacobian", 2.5, nips2008, _RIDGE, 0.0),
        ("wrong-norm", "c R in place of c R^2 in the Jacobian's price", 3.0, wrong_norm, _RIDGE, 0.0),
        ("laplace-deviation", "sensitivity/epsilon as standard deviation", 1.2, laplace_deviation, (), 0.0),
        ("lecture-least-squares", "least squares without a ridge", 5.0, lecture_least_squares, (), 0.0),
        ("intercept", "an intercept that the ridge leaves out", 5.0, unregularised_intercept, _RIDGE, 0.0),
        ("shared-noise", "one noise vector for all classes", 6.0, shared_noise, (), 0.0),
        ("sparse-vector", "no noise on the threshold", 2.0, sparse_vector, (), 0.0),
        ("tdil", "n lambda twice in the exponent", 3.0, tdil, (), 1e-6),
        ("float-noise", "noise added in doubles", 5.0, float_noise, (), 0.0),
    )
)
"""Every exhibit; `must_reach` is for a claimed epsilon of 1."""
