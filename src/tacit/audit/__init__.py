"""Attack the guarantees: play the game that defines them, bound what the plays prove, and search exact densities.

    audit          attack any callable with two neighbouring data sets
    case           the ready-made audit of a mechanism, estimator or exhibit, by name
    AuditReport    what was found; `AuditReport.verdict`, `AuditReport.rows()`, `picture(report)`
    attacks        LikelihoodRatio, Canary, LowBits, Learned; Fingerprint is part of every audit
    Patience       how long a play may take before it counts as hung

A refutation is a proof up to a stated risk. That a claim holds is not: it means that this attack found nothing.
"""

from tacit.audit.attacks import Attack, Canary, Learned, LikelihoodRatio, LowBits
from tacit.audit.case import Case, Question, audit
from tacit.audit.catalogue import NAMES, case
from tacit.audit.fingerprint import Fingerprint
from tacit.audit.game import Batch
from tacit.audit.outcomes import Patience
from tacit.audit.picture import picture
from tacit.audit.report import AuditReport, Exact, Verdict

__all__ = [
    "NAMES",
    "Attack",
    "AuditReport",
    "Batch",
    "Canary",
    "Case",
    "Exact",
    "Fingerprint",
    "Learned",
    "LikelihoodRatio",
    "LowBits",
    "Patience",
    "Question",
    "Verdict",
    "audit",
    "case",
    "picture",
]
