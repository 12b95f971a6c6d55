"""Private scores of a model on private rows that it was not trained on.

`report` answers for one charge what is usually asked of a model: ROC and precision-recall curves, calibration, every
rate at every threshold, R^2 and the quantiles of errors, each with error bars that tell noise from sampling.
`accuracy`, `log_loss` and `confusion_matrix` are single scores, each for a charge of its own.

The rows must be held out. If which rows are held out was fixed by index or by a key that a replacement cannot move
(`records.split`, `split_by_index`, `ledger.partition(..., fixed_by=...)`), training and evaluation compose in parallel:
together they cost the larger of the two. A split that is stratified, sorted, de-duplicated or grouped by value is not
covered.

Labels and predictions are read cell by cell: a label of any kind, or none, changes no other record's share. What is
not in our hands is the model. A row that it fails on says nothing, which has its place in every score, and the others
are asked without it; only a model that fails on made-up rows too is refused. What it says of one row must not depend on
another. Its warnings are silenced and its errors withheld, because both may tell, or quote, a record.
"""

from tacit.evaluation.figure import Figure, Report
from tacit.evaluation.regression import RegressionReport
from tacit.evaluation.reporting import report
from tacit.evaluation.scores import ConfusionMatrix, Score, accuracy, confusion_matrix, log_loss
from tacit.evaluation.several import ClassesReport
from tacit.evaluation.splits import split_by_index
from tacit.evaluation.two import TwoClassReport

__all__ = [
    "ClassesReport",
    "ConfusionMatrix",
    "Figure",
    "RegressionReport",
    "Report",
    "Score",
    "TwoClassReport",
    "accuracy",
    "confusion_matrix",
    "log_loss",
    "report",
    "split_by_index",
]
