"""Known-broken algorithms, kept as code so that the auditor can be seen to catch them. Never use them on records."""

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

EXHIBITS = (
    Exhibit("exhibit-nips2008", "the 2008 algorithm below n lambda = 2R^2/epsilon: no Jacobian", 2.5, nips2008),
    Exhibit("exhibit-wrong-norm", "c R in place of c R^2 in the Jacobian's price", 3.0, wrong_norm),
    Exhibit("exhibit-laplace-deviation", "sensitivity/epsilon as standard deviation", 1.2, laplace_deviation),
    Exhibit("exhibit-lecture-least-squares", "least squares without a ridge", 5.0, lecture_least_squares),
    Exhibit("exhibit-intercept", "an intercept that the ridge leaves out", 5.0, unregularised_intercept),
    Exhibit("exhibit-shared-noise", "one noise vector for all classes", 6.0, shared_noise),
    Exhibit("exhibit-sparse-vector", "no noise on the threshold", 2.0, sparse_vector),
    Exhibit("exhibit-tdil", "n lambda twice in the exponent", 3.0, tdil),
    Exhibit("exhibit-float-noise", "noise added in doubles", 5.0, float_noise),
)
"""Every exhibit; `must_reach` is for a claimed epsilon of 1."""
