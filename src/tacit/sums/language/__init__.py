"""The closed language of queries: total operations on the cleaned columns of one record, and finite constants.

A query's function is called once, with names that stand for columns, and gives back an expression. It never sees a
record, so it cannot mix records, branch on them, fail because of them or change how many there are. `evaluate` says
what it means over arrays of cells.
"""

from tacit.sums.language.expression import Expression
from tacit.sums.language.names import Names

__all__ = ["Expression", "Names"]
