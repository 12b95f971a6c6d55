"""An interior-point method for the hinge: fast, but without a guarantee of its own.

The hinge problem is a quadratic program: minimise mean(excess) + (alpha/2)|w|^2 + b.w/n with slack and
excess at least 0 and slack - excess = t = margin - 1. Its dual variables a lie in [0, 1], and at the
minimum a slack = 0 and (1 - a) excess = 0. Newton's method follows the path on which both products equal
mu, towards mu = 0 (Mehrotra's predictor and corrector). Whatever it returns is judged by the duality gap.

Long steps are fast and have no guarantee; `short_steps` stay so close to the path that each shrinks mu by a fixed
share, which bounds their number by public quantities.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from tacit.erm.rows.block import Block
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.preconditioner import Preconditioner, build_preconditioner
from tacit.numerics.arrays import Floats
from tacit.numerics.exact import Point
from tacit.numerics.threads import Bounds, Threads

_PATIENCE = 6
_TO_THE_EDGE = 0.995
_MOST_STEPS = 200
_NEAR = 0.4


@final
@dataclass(frozen=True, eq=False)
class _State:
    """The variables: a coefficient, and for each record its dual, its rest 1 - a, slack and excess."""

    coefficient: Floats
    dual: Floats
    rest: Floats
    slack: Floats
    excess: Floats

    @property
    def mu(self) -> float:
        """The mean of the products that vanish at the minimum."""
        return float(np.mean(self.dual * self.slack) + np.mean(self.rest * self.excess)) / 2

    def moved(self, share: float, step: "_Step") -> Self:
        """Return the state a share of the step further."""
        return type(self)(
            self.coefficient + share * step.coefficient,
            self.dual + share * step.dual,
            self.rest - share * step.dual,
            self.slack + share * step.slack,
            self.excess + share * step.excess,
        )

    def longest(self, step: "_Step") -> float:
        """Return the largest share of the step, at most 1, that leaves everything positive."""
        changes = (
            (self.dual, step.dual),
            (self.rest, -step.dual),
            (self.slack, step.slack),
            (self.excess, step.excess),
        )
        worst = max(float(np.max(-change / value)) for value, change in changes)
        return 1.0 if worst <= _TO_THE_EDGE else _TO_THE_EDGE / worst


@final
@dataclass(frozen=True, eq=False)
class _Step:
    """A change of every variable; the rest 1 - a changes by minus the change of a."""

    coefficient: Floats
    dual: Floats
    slack: Floats
    excess: Floats


@final
@dataclass(frozen=True, eq=False)
class _Program:
    """The quadratic program of an objective with margin targets."""

    objective: Objective
    workers: Threads

    def margins(self, coefficient: Floats) -> Floats:
        """Return target times score for every record."""
        models, targets = Point(coefficient[None]), self.objective.targets.astype(np.float64, copy=False)
        blocks = self.objective.rows.blocks(1)
        scores = self.workers.each(lambda b: self.objective.rows.block(b).scores(models)[:, 0], blocks)
        return np.asarray(np.concatenate(scores) * targets)

    def pulled(self, weights: Floats) -> Floats:
        """Return the mean over records of weight times target times row."""
        slopes = weights * self.objective.targets.astype(np.float64, copy=False)

        def work(bounds: Bounds) -> Floats:
            return self.objective.rows.block(bounds).pull(slopes[slice(*bounds), None])

        return np.asarray(self.workers.sum(work, self.objective.rows.blocks(1))[0] / self.objective.rows.count)

    def curvature(self, state: _State) -> tuple[Preconditioner, Floats]:
        """Return the Hessian that is left when all but the coefficient is eliminated, and its weights."""
        weights = 1.0 / (state.slack / state.dual + state.excess / state.rest)

        def weigh(bounds: Bounds) -> tuple[Block, Floats]:
            return self.objective.rows.block(bounds), weights[slice(*bounds), None]

        point = Point(state.coefficient)
        return build_preconditioner(self.objective, self.workers, point, lambda _: weigh), weights

    def start(self, coefficient: Floats) -> _State:
        """Return a state well inside the bounds."""
        t = self.margins(coefficient) - 1.0
        dual = np.clip(0.5 - t, 0.1, 0.9)
        return _State(coefficient, dual, 1.0 - dual, np.maximum(t, 0.0) + 0.5, np.maximum(-t, 0.0) + 0.5)

    def central(self) -> _State:
        """Return a state on which no constraint is violated, near the path where mu is large."""
        dual = np.full(self.objective.rows.length, 0.5)
        zero = np.zeros(self.objective.shape)
        tilt = self.objective.regularised(zero, Point(zero))
        coefficient = (self.pulled(dual) - tilt) / self.objective.alpha
        t = self.margins(coefficient) - 1.0
        far = math.sqrt(2 * len(t)) * float(np.max(np.abs(t))) / (2 * _NEAR)
        return _State(coefficient, dual, 1.0 - dual, far + t / 2, far - t / 2)

    def residual(self, state: _State) -> Floats:
        """Return the gradient of the Lagrangian in the coefficient."""
        ridge = self.objective.regularised(np.zeros_like(state.coefficient), Point(state.coefficient))
        return np.asarray(ridge - self.pulled(state.dual))

    def step(
        self,
        state: _State,
        hessian: tuple[Preconditioner, Floats],
        gaps: tuple[Floats, Floats],
        goals: tuple[Floats, Floats],
    ) -> _Step:
        """Return Newton's step: it closes `gaps`, and changes the two products by `goals`.

        The gaps are those of the Lagrangian's gradient and of t = slack - excess; the products are dual times
        slack and rest times excess.
        """
        preconditioner, weights = hessian
        residual, infeasible = gaps
        to_slack, to_excess = goals
        push = to_slack / state.dual - to_excess / state.rest - infeasible
        right = self.pulled(push * weights) - residual
        change = preconditioner.solve(right[None])[0]
        dual = (push - self.margins(change)) * weights
        slack = (to_slack - state.slack * dual) / state.dual
        excess = (to_excess + state.excess * dual) / state.rest
        return _Step(change, dual, slack, excess)


def interior_point(objective: Objective, workers: Threads, start: Floats, gap: float) -> tuple[Point, Floats]:
    """Return a point and duals in [0, 1] whose duality gap is about `gap`, or what came closest."""
    program = _Program(objective, workers)
    state = best = program.start(start)
    lowest, since = np.inf, 0
    for _ in range(_MOST_STEPS):
        if since == _PATIENCE:
            break
        residual, t = program.residual(state), program.margins(state.coefficient) - 1.0
        reached = float(np.mean(np.where(t > 0, state.dual, -state.rest) * t))
        reached += float(residual @ residual) / (2 * objective.alpha)
        since += 1
        if reached < lowest:
            best, lowest, since = state, reached, 0
        if reached <= gap:
            break
        state = _advanced(program, state, residual, t)
    return Point(best.coefficient), np.clip(best.dual, 0.0, 1.0)


def short_steps(objective: Objective, workers: Threads, gap: float) -> tuple[Point, Floats]:
    """Return a point and duals whose duality gap is at most `gap`, after a bounded number of steps.

    Guarantee: in exact arithmetic, after at most `most_short_steps` of them.
    Assumes: the curvature is computed as a whole.
    Reference: Wright, Primal-Dual Interior-Point Methods (1997), chapters 5 and 8: within 0.4 mu of the path, aiming at
    (1 - 0.4/sqrt(2n)) mu, a full step stays there and arrives at that mu; the duality gap is 2 mu.
    """
    program = _Program(objective, workers)
    state = program.central()
    shrink = 1 - _NEAR / math.sqrt(2 * objective.rows.length)
    for _ in range(most_short_steps(objective.rows.length, 2 * state.mu / gap)):
        if 2 * state.mu <= gap:
            break
        residual, t, aim = program.residual(state), program.margins(state.coefficient) - 1.0, shrink * state.mu
        gaps = (residual, t - state.slack + state.excess)
        goals = (aim - state.dual * state.slack, aim - state.rest * state.excess)
        step = program.step(state, program.curvature(state), gaps, goals)
        state = state.moved(state.longest(step), step)
    return Point(state.coefficient), np.clip(state.dual, 0.0, 1.0)


def most_short_steps(count: int, ratio: float) -> int:
    """Bound the number of short steps that shrink mu by the ratio."""
    return math.ceil(math.sqrt(2 * count) / _NEAR * math.log(max(ratio, 1.0))) + 1


def _advanced(program: _Program, state: _State, residual: Floats, t: Floats) -> _State:
    """Return the next state: a probe tells how far mu can fall at once, then the step aims there."""
    hessian, mu = program.curvature(state), state.mu
    gaps = (residual, t - state.slack + state.excess)
    products = (-state.dual * state.slack, -state.rest * state.excess)
    probe = program.step(state, hessian, gaps, products)
    aim = mu * (state.moved(state.longest(probe), probe).mu / mu) ** 3
    to_slack = products[0] + aim - probe.dual * probe.slack
    to_excess = products[1] + aim + probe.dual * probe.excess
    step = program.step(state, hessian, gaps, (to_slack, to_excess))
    return state.moved(state.longest(step), step)
