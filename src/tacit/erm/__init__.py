"""Empirical risk minimisation with certified solutions."""

from tacit.erm.loss import Loss, PointwiseLoss
from tacit.erm.loss_check import check_loss
from tacit.erm.losses import Hinge, HuberHinge, HuberRegression, Logistic, Squared
from tacit.erm.many import solve_many
from tacit.erm.objective import Objective
from tacit.erm.rows import Rows
from tacit.erm.softmax import Softmax
from tacit.erm.solve import Solution, smallest_tolerance, solve
from tacit.erm.tabulated import Tabulated

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
    "solve_many",
]
