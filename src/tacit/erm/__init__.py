"""Empirical risk minimisation with certified solutions."""

from tacit.erm.losses.check import check_loss
from tacit.erm.losses.loss import Loss, PointwiseLoss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge, HuberRegression, Logistic, Squared
from tacit.erm.losses.tabulated import Tabulated
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.solve import Solution, smallest_tolerance, solve

__all__ = [
    "Hinge",
    "HuberHinge",
    "HuberRegression",
    "Logistic",
    "Loss",
    "Objective",
    "PointwiseLoss",
    "Rows",
    "Softmax",
    "Solution",
    "Squared",
    "Tabulated",
    "check_loss",
    "smallest_tolerance",
    "solve",
]
