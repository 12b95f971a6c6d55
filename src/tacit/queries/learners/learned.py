"""What is said of a model that was learned from statistical queries."""

from dataclasses import dataclass
from typing import final

from tacit.budget import Budget
from tacit.queries.oracle.plan import Plan
from tacit.release import NEIGHBOURS


@final
@dataclass(frozen=True)
class Learned:
    """What a fit asked, what it may have spent, and what is promised for it.

    `budget` is None for an infinite epsilon. `private` is False for that, and for a rehearsal from a seed.
    """

    plans: tuple[Plan, ...]
    budget: Budget | None
    private: bool
    public: tuple[str, ...]

    @property
    def queries(self) -> int:
        """How many numbers were asked for."""
        return sum(plan.size for plan in self.plans)

    @property
    def guarantee(self) -> str:
        """One sentence: neighbours, epsilon, delta and what was assumed public."""
        if not self.private:
            return "NOT private and not charged: " + ("a rehearsal from a seed" if self.budget else "infinite epsilon")
        return f"{self.budget}, {NEIGHBOURS} neighbours; public: {', '.join(self.public)}"

    def __str__(self) -> str:
        rounds = "; ".join(f"round {number}: {plan}" for number, plan in enumerate(self.plans, 1))
        return f"{self.guarantee}. {rounds or 'exact averages'}"
