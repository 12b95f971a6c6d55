"""What one play shows: an answer of any type, an exception, a warning, printed text or a hang, as numbers and marks.

trace       where numbers and marks are noted; `look` notes all that can be seen of a thing
plain       numbers, text and containers
tables      arrays of numpy, data frames and Arrow tables
objects     anything else by its attributes; functions and exceptions
hearing     warnings, printed text and log entries of a play
patience    how long a play may take before it counts as hung
outcome     one play, start to end
"""

from tacit.audit.outcomes import objects, plain, tables  # noqa: F401 (they register what they can look at)
from tacit.audit.outcomes.outcome import Outcome, as_numbers, observe, seen
from tacit.audit.outcomes.patience import Patience
from tacit.audit.outcomes.trace import NotPrivate

__all__ = ["NotPrivate", "Outcome", "Patience", "as_numbers", "observe", "seen"]
