"""What an audit concludes, and in which words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, final

import numpy as np

from tacit.accounting.meaning import best_guess
from tacit.audit.bounds import plays_needed
from tacit.audit.judge import Finding
from tacit.audit.laws import delta_between
from tacit.budget import Budget
from tacit.numerics.arrays import Floats
from tacit.version import VERSION, code_hash

_ROUNDING = 1e-9


class Verdict(Enum):
    """Whether the claim holds; the value is the exit code of `tacit audit`."""

    HOLDS = 0
    REFUTED = 1
    CANNOT_TELL = 4

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


@final
@dataclass(frozen=True)
class Exact:
    """What exact densities say: the largest privacy loss found, and the delta it takes at the claimed epsilon.

    `loss` is the logarithm of a ratio of densities, infinite where it has no bound; `delta` is None where only the
    loss is known. `pairs` counts the neighbouring data sets that were searched, and `where` describes the worst.
    """

    loss: float
    delta: float | None
    pairs: int
    where: str

    @classmethod
    def of_chances(cls, first: Floats, second: Floats, epsilon: float, where: str) -> "Exact":
        """Return what the chances of finitely many answers say."""
        loss = float(np.abs(np.log(first / second)).max())
        return cls(loss, delta_between(first, second, epsilon), 1, where)

    @classmethod
    def of_laplace(cls, shift: float, scale: float, epsilon: float, where: str) -> "Exact":
        """Return the privacy loss, and the delta at epsilon, of Laplace noise on a number that moves by `shift`."""
        loss = shift / scale
        return cls(loss, max(0.0, -math.expm1((epsilon - loss) / 2)), 1, where)

    def refutes(self, claim: Budget) -> bool:
        """Whether the claim is false, rounding errors aside."""
        if claim.is_pure:
            return self.loss > claim.epsilon * (1 + _ROUNDING)
        return self.delta is not None and self.delta > claim.delta * (1 + _ROUNDING)


@final
@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit: the claim, what each attack showed, what exact densities say, and the verdict.

    `variant` tells which of the things that a method can do was attacked, `options` what the command was given besides
    the claim.
    """

    name: str
    claim: Budget
    confidence: float
    plays: int
    findings: tuple[Finding, ...]
    exact: Exact | None = None
    trouble: str | None = None
    note: str = ""
    variant: Mapping[str, str] = field(default_factory=dict)
    options: str = ""

    @property
    def epsilon_bound(self) -> float:
        """The largest epsilon that the plays rule out, at the stated confidence for all attacks together."""
        return max((finding.bound for finding in self.findings), default=0.0)

    @property
    def reach(self) -> float:
        """The largest epsilon that so many plays could have ruled out."""
        return max((finding.reach for finding in self.findings), default=0.0)

    @property
    def needed(self) -> int:
        """How many plays could rule out the claimed epsilon."""
        each = 1 - (1 - self.confidence) / max(1, len(self.findings))
        return plays_needed(self.claim.epsilon, self.claim.delta, each)

    @property
    def verdict(self) -> Verdict:
        """Refuted by plays or by exact densities; holds if the plays could have refuted it and did not.

        A refutation is wrong with probability at most 1 - confidence. That a claim holds is never proved by an
        attack: it says that this Bob, with so many plays, found nothing.
        """
        if self.epsilon_bound > self.claim.epsilon or (self.exact is not None and self.exact.refutes(self.claim)):
            return Verdict.REFUTED
        cannot_tell = self.trouble is not None or self.reach <= self.claim.epsilon
        return Verdict.CANNOT_TELL if cannot_tell else Verdict.HOLDS

    @property
    def exit_code(self) -> int:
        """0 if the claim holds, 1 if it is refuted, 4 if the audit can not tell."""
        return self.verdict.value

    @property
    def conclusion(self) -> str:
        """The verdict in one sentence."""
        if self.verdict is Verdict.CANNOT_TELL and self.trouble is not None:
            return f"{self.name}: cannot tell. {self.trouble}"
        if self.verdict is Verdict.CANNOT_TELL:
            return (
                f"{self.name}: cannot tell. {self.plays:,} plays can rule out epsilon up to {self.reach:.3f} only, "
                f"which is not above the claimed {self.claim.epsilon:g}: play about {self.needed:,} times."
            )
        if self.verdict is Verdict.HOLDS:
            return (
                f"{self.name}: the claim {self.claim} holds against this attack, which could have shown an epsilon "
                f"up to {self.reach:.3f} and showed {self.epsilon_bound:.3f}."
            )
        by_plays = f"epsilon is above {self.epsilon_bound:.3f} at {100 * self.confidence:.12g} % confidence"
        if self.exact is None or not self.exact.refutes(self.claim):
            return f"{self.name}: the claim {self.claim} is refuted: {by_plays}."
        return (
            f"{self.name}: the claim {self.claim} is refuted: exact densities reach a privacy loss of "
            f"{self.exact.loss:.3f}; by the plays alone, {by_plays}."
        )

    def rows(self) -> list[tuple[str, str]]:
        """Return what there is to say, as pairs of a question and its answer."""
        rows = [
            ("claim", f"{self.claim}, replace-one neighbours"),
            ("plays", f"{self.plays:,}, half of them to aim, half to judge"),
            ("Bob may win at most", f"{best_guess(self.claim):.4f}"),
        ]
        for finding in self.findings:
            low, high = finding.win_interval
            rows += [
                (f"{finding.attack}: Bob won", f"{finding.win_rate:.4f} (between {low:.4f} and {high:.4f})"),
                (
                    f"{finding.attack}: epsilon is above",
                    f"{finding.bound:.4f} at {100 * self.confidence:.12g} % (could have shown {finding.reach:.3f})",
                ),
            ]
            if finding.tells and finding.bound > self.claim.epsilon:
                rows.append((f"{finding.attack}: what told", finding.tells))
        if self.exact is not None:
            rows.append(
                ("exact: largest loss", f"{self.exact.loss:.4f} (neighbouring pairs searched: {self.exact.pairs})")
            )
            if self.exact.delta is not None:
                rows.append(("exact: delta needed", f"{self.exact.delta:.3g} at epsilon={self.claim.epsilon:g}"))
            rows.append(("exact: worst pair", self.exact.where))
        if self.note:
            rows.append(("note", self.note))
        return [*rows, ("verdict", str(self.verdict))]

    def plain(self) -> dict[str, Any]:
        """Return the report as plain values, with the day and the code that was attacked."""
        return {
            "name": self.name,
            "variant": dict(self.variant),
            "options": self.options,
            "verdict": str(self.verdict),
            "exit_code": self.exit_code,
            "conclusion": self.conclusion,
            "claim": {"epsilon": self.claim.epsilon, "delta": self.claim.delta},
            "confidence": self.confidence,
            "plays": self.plays,
            "version": VERSION,
            "code": code_hash(),
            "date": datetime.now(UTC).date().isoformat(),
            "rows": dict(self.rows()),
        }

    def __str__(self) -> str:
        return self.conclusion
