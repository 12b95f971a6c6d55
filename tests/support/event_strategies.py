"""Random events of every kind that tacit prices."""

from typing import Any

from dp_accounting import dp_event
from hypothesis import Phase, settings
from hypothesis import strategies as st

from tacit.accounting import BoundedRangeDpEvent, EpsilonDeltaDpEvent, PoissonSampledGaussianDpEvent

SLOW = settings(max_examples=5, phases=[Phase.explicit, Phase.reuse, Phase.generate])
"""For claims that take a second to check: few examples, and none spent on making a counterexample small."""


def _between(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


multipliers = _between(0.2, 1000.0)
gaussians = st.builds(dp_event.GaussianDpEvent, multipliers)
laplaces = st.builds(dp_event.LaplaceDpEvent, multipliers)

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "gaussian": gaussians,
    "laplace": laplaces,
    "epsilon-delta": st.builds(EpsilonDeltaDpEvent, _between(0.0, 5.0), st.one_of(st.just(0.0), _between(1e-12, 1e-9))),
    "bounded range": st.builds(BoundedRangeDpEvent, _between(0.0, 5.0)),
    "discrete laplace": st.builds(dp_event.DiscreteLaplaceDpEvent, _between(0.001, 2.0), st.integers(1, 4)),
    "randomized response": st.builds(dp_event.RandomizedResponseDpEvent, _between(0.01, 1.0), st.integers(2, 20)),
    "zcdp": st.builds(dp_event.ZCDpEvent, _between(0.0, 2.0), _between(0.0, 0.1)),
    "repeat and select": st.builds(dp_event.RepeatAndSelectDpEvent, laplaces, _between(1.0, 50.0), _between(-0.9, 2.0)),
    "poisson sampled": st.builds(PoissonSampledGaussianDpEvent, _between(0.001, 1.0), _between(1.0, 20.0)),
    "poisson sampled, unsaid": st.builds(
        dp_event.PoissonSampledDpEvent, _between(0.001, 1.0), st.builds(dp_event.GaussianDpEvent, _between(0.5, 20.0))
    ),
    "sampled without replacement": st.builds(
        lambda size, sample, event: dp_event.SampledWithoutReplacementDpEvent(size, min(size, sample), event),
        st.integers(1, 1000),
        st.integers(1, 1000),
        st.builds(dp_event.GaussianDpEvent, _between(0.5, 20.0)),
    ),
    "nothing": st.just(dp_event.NoOpDpEvent()),
}
"""One strategy for each kind of event that is not a composition."""

POINT_KINDS = ["laplace", "epsilon-delta", "bounded range", "discrete laplace", "randomized response",
               "repeat and select", "nothing"]  # fmt: skip
RENYI_KINDS = [*POINT_KINDS, "gaussian", "zcdp", "poisson sampled", "sampled without replacement"]
LOSS_KINDS = [*POINT_KINDS, "gaussian", "poisson sampled", "sampled without replacement"]

single = st.one_of(list(KINDS.values()))
point_priced = st.one_of([KINDS[kind] for kind in POINT_KINDS])


def composed(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return compositions, nested at random, of the parts."""
    return st.recursive(
        parts,
        lambda inner: st.one_of(
            st.builds(dp_event.SelfComposedDpEvent, inner, st.integers(0, 4)),
            st.builds(dp_event.ComposedDpEvent, st.lists(inner, max_size=3)),
        ),
        max_leaves=4,
    )
