"""Attack the guarantees: play the game that defines them, bound what the plays prove, and search exact densities.

    audit          attack any callable with two neighbouring data sets
    case           the ready-made audit of a mechanism, estimator or exhibit, by name
    Report         what was found; `Report.verdict`, `Report.rows()`, `picture(report)`
    weapons        LikelihoodRatio, Canary, LowBits, Learned

A refutation is a proof up to a stated risk. That a claim holds is not: it means that this attack found nothing.
"""

from tacit.audit.case import Case, Question
from tacit.audit.catalogue import NAMES, case
from tacit.audit.entry import audit
from tacit.audit.game import Batch
from tacit.audit.picture import picture
from tacit.audit.report import Exact, Report, Verdict
from tacit.audit.weapons import Canary, Learned, LikelihoodRatio, LowBits, Weapon

__all__ = [
    "NAMES",
    "Batch",
    "Canary",
    "Case",
    "Exact",
    "Learned",
    "LikelihoodRatio",
    "LowBits",
    "Question",
    "Report",
    "Verdict",
    "Weapon",
    "audit",
    "case",
    "picture",
]
