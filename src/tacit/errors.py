"""Every exception that tacit raises on purpose.

    TacitError
    ├── InvalidParameter (also ValueError)      a declared, public quantity makes no sense
    ├── UnsupportedEvent (also TypeError)       an event that no accountant here can price soundly
    ├── BudgetExceeded                          a spend does not fit into what is left
    ├── QueryFailed                             the evaluator failed after the charge; nothing was answered
    ├── ModelFileError (also ValueError)        a model that no file can hold, or a file that holds no model
    ├── FileNotWritten (also OSError)           a file could not be written; what was there before is unharmed
    ├── ServiceError                            a service did not answer, or refused for a reason of its own
    └── LedgerError
        ├── LedgerMissing                       no ledger at that address
        ├── LedgerExists                        an account of that name is already there
        ├── LedgerForeign                       a database, but not one of tacit's
        ├── LedgerVersion                       written by a newer tacit
        ├── LedgerCorrupt                       damaged, tampered with or shortened
        ├── TicketUsed                          another act, or one whose answer was kept, has this ticket
        ├── WitnessFailed                       charged, but the second place that must remember it did not
        └── LedgerBusy                          another process held the lock for too long

and of its warnings, `PrivacyWarning` (a UserWarning): allowed, but not private; and `OddTerms`, one of those: a fit
that is hopeless or odd by public facts alone.

Messages have one shape: what is wrong, what was wanted, what was got, what to do. A message raised
after records were touched quotes no record.
"""


class TacitError(Exception):
    """The root of all of tacit's exceptions.

    `charged` is what a service said of its refusal: whether it charged, None where that is not known.
    """

    charged: bool | None = None


class PrivacyWarning(UserWarning):
    """What was asked for is given, and is not private: decide whether the rows are public."""


class OddTerms(PrivacyWarning):
    """By public facts alone, a fit is hopeless or promises less than it seems; it is done none the less."""


class InvalidParameter(TacitError, ValueError):
    """A declared, public quantity makes no sense; nothing was charged."""


class UnsupportedEvent(TacitError, TypeError):
    """An event that cannot be priced soundly for replace-one neighbours; nothing was charged."""


class BudgetExceeded(TacitError):
    """A spend does not fit into what is left of a budget; nothing was charged.

    `event` is what was to be charged, `at` the (epsilon, delta) it was to be charged at.
    """

    event: object = None
    at: object = None


class QueryFailed(TacitError):
    """The evaluator failed after the charge; nothing was answered, and why is not told, as it may depend on records."""


class ModelFileError(TacitError, ValueError):
    """A file holds no model that can be read, or a model holds what no file may (records, code)."""


class FileNotWritten(TacitError, OSError):
    """A file could not be written; whatever had its name before is as it was."""


class ServiceError(TacitError):
    """A service did not answer, or refused what was asked: its words say why, and whether anything was charged."""


class LedgerError(TacitError):
    """Something is wrong with a ledger; nothing was charged."""


class LedgerMissing(LedgerError):
    """There is no ledger, or no account of that name, at the address."""


class LedgerExists(LedgerError):
    """An account of that name is already there."""


class LedgerForeign(LedgerError):
    """The address holds something that is not a tacit ledger."""


class LedgerVersion(LedgerError):
    """The ledger was written by a newer version of tacit."""


class LedgerCorrupt(LedgerError):
    """The ledger is damaged, tampered with or shortened."""


class TicketUsed(LedgerError):
    """Something else was charged under this ticket, or its answer was kept: nothing is drawn, nothing was charged."""


class WitnessFailed(LedgerError):
    """A charge stands, but its witness does not know of it: nothing is drawn."""


class LedgerBusy(LedgerError):
    """Another process held the ledger's lock for too long."""
