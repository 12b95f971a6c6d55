"""The one door: charged before noise exists, marked when rehearsed, and nothing random anywhere else."""

import ast
import dataclasses
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import noise
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms import Exponential, Gaussian, Laplace, Mechanism, SparseVector, SphericalLaplace
from tacit.releases import Release, release

MECHANISMS: list[tuple[Mechanism, object]] = [
    (Laplace.for_budget(Budget(0.5)), 1.0),
    (Gaussian.for_budget(Budget(0.5, 1e-6)), 1.0),
    (SphericalLaplace.for_budget(Budget(0.5), 1.0, 3), np.zeros(3)),
    (Exponential.for_budget(Budget(0.5), candidates=2), [0.0, 1.0]),
    (SparseVector.for_budget(Budget(0.5), threshold=0.0), [1.0, 2.0]),
]
EVERY = pytest.mark.parametrize(("mechanism", "value"), MECHANISMS, ids=lambda each: type(each).__name__)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account with room for one release of a half."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(0.9, 1e-5))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record charges and draws of randomness in their order."""
    recorded: list[str] = []
    spend, generator = Ledger.spend, noise.SystemEntropy.generator

    def spending(self: Ledger, *args: object, **named: object) -> object:
        entry = spend(self, *args, **named)
        recorded.append("charge")
        return entry

    def drawing(self: noise.SystemEntropy) -> np.random.Generator:
        recorded.append("draw")
        return generator(self)

    monkeypatch.setattr(Ledger, "spend", spending)
    monkeypatch.setattr(noise.SystemEntropy, "generator", drawing)
    return recorded


@EVERY
def test_the_charge_comes_before_the_noise(
    mechanism: Mechanism, value: object, ledger: Ledger, steps: list[str]
) -> None:
    """One charge is durable before the first random bit is drawn, and the release carries its entry."""
    released = release(mechanism, value, label="first", ledger=ledger)
    assert steps[0] == "charge"
    assert steps.count("charge") == 1
    assert "draw" in steps
    assert ledger.spent == mechanism.budget
    assert released.entry == ledger.entries()[-1]
    assert released.entry.label == "first"
    assert released.entry.event == mechanism.event == released.event
    assert released.private


@EVERY
def test_a_refused_charge_draws_nothing(mechanism: Mechanism, value: object, ledger: Ledger, steps: list[str]) -> None:
    """When the budget is too small no randomness is touched and the account stays as it was."""
    release(mechanism, value, label="first", ledger=ledger)
    steps.clear()
    with pytest.raises(BudgetExceeded):
        release(mechanism, value, label="second", ledger=ledger)
    assert steps == []
    assert ledger.spent == mechanism.budget


def test_a_failure_after_the_charge_is_not_refunded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """If drawing fails the charge stands: an answer might have been seen."""

    def broken(self: object) -> np.random.Generator:
        raise OSError("no entropy")

    monkeypatch.setattr(noise.SystemEntropy, "generator", broken)
    with pytest.raises(OSError, match="no entropy"):
        release(Laplace.for_budget(Budget(0.5)), 1.0, label="x", ledger=ledger)
    assert ledger.spent == Budget(0.5)


def test_an_interrupt_after_the_charge_says_what_was_charged(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees a failure or an interrupt is told what it cost, and that it cost nothing without a ledger."""

    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(Laplace, "randomise", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        release(Laplace.for_budget(Budget(0.5)), 1.0, label="x", ledger=ledger)
    assert caught.value.__notes__ == ["x: nothing was released, but entry 1 was charged for it: epsilon=0.5, delta=0."]
    assert ledger.spent == Budget(0.5)
    with pytest.raises(KeyboardInterrupt) as caught:
        release(Laplace.for_budget(Budget(0.5)), 1.0, label="x", ledger=ledger, random_state=1)
    assert caught.value.__notes__ == ["x: nothing was released, and nothing was charged."]


@EVERY
def test_a_rehearsal_is_marked_repeatable_and_never_charged(
    mechanism: Mechanism, value: object, ledger: Ledger, steps: list[str]
) -> None:
    """With a seed nothing is charged, no entropy is drawn, the answer repeats and says that it is not private."""
    first, again = (release(mechanism, value, label="x", ledger=ledger, random_state=7) for _ in range(2))
    assert np.array_equal(first.value, again.value)
    assert not first.private
    assert first.entry is None
    assert "NOT private" in str(first)
    assert "NOT private" in first.guarantee
    assert steps == []
    assert ledger.spent == Budget(0)


def test_without_a_ledger_nothing_is_charged_but_all_is_private() -> None:
    """A ledger is optional: the answer is private and has no entry."""
    released = release(Laplace.for_budget(Budget(1)), 1.0, label="x")
    assert released.private
    assert released.entry is None


def test_a_release_states_its_guarantee_in_one_sentence() -> None:
    """Neighbours, epsilon, delta and public facts are all in the text of a private release."""
    released = release(Gaussian.for_budget(Budget(0.5, 1e-6), 2.5, 3), np.ones(3), label="x")
    for text in (str(released), released.guarantee):
        for fact in ("replace-one", "epsilon=0.5", "delta=1e-06", "sensitivity 2.5", "shape (3,)", "public: n"):
            assert fact in text
    assert str(released.value) in str(released)


def test_callers_name_their_own_public_facts() -> None:
    """Facts given by the caller replace the mechanism's own."""
    released = release(Laplace.for_budget(Budget(1)), 1.0, label="x", public=("the bounds 0 and 1",))
    assert released.public == ("the bounds 0 and 1",)
    assert "the bounds 0 and 1" in released.guarantee
    assert "shape" not in released.guarantee


def test_post_processing_keeps_the_mark_and_the_guarantee(ledger: Ledger) -> None:
    """Mapping a release changes its value only: budget, event, entry and mark stay."""
    for seed in (None, 7):
        released = release(Laplace.for_budget(Budget(0.25)), 1.0, label="x", ledger=ledger, random_state=seed)
        rounded = released.map(round)
        assert rounded.value == round(released.value)
        assert dataclasses.replace(rounded, value=released.value) == released


def test_a_release_cannot_be_changed() -> None:
    """Neither the value nor the mark of a release can be assigned."""
    released = release(Laplace.for_budget(Budget(1)), 1.0, label="x", random_state=1)
    for name in ("value", "private", "budget"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(released, name, True)
    assert isinstance(released, Release)


@pytest.mark.parametrize("wrong", [None, 1.0, "laplace", Laplace, Budget(1), object()])
def test_only_mechanisms_are_released(wrong: object, ledger: Ledger) -> None:
    """What is not a mechanism is refused and nothing is charged."""
    with pytest.raises(InvalidParameter, match="wanted a mechanism"):
        release(wrong, 1.0, label="x", ledger=ledger)
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize("wrong", ["ledger", "sqlite:///ledger.db", 1, Budget(1), object(), Ledger])
def test_only_ledgers_are_charged(wrong: object) -> None:
    """Something else in the ledger's place is refused instead of releasing uncharged."""
    with pytest.raises(InvalidParameter, match="ledger must be"):
        release(Laplace.for_budget(Budget(1)), 1.0, label="x", ledger=wrong)


@pytest.mark.parametrize("seed", ["7", -1, True, 7.0])
def test_a_bad_seed_is_neither_private_nor_charged(seed: object, ledger: Ledger, steps: list[str]) -> None:
    """What is no seed is refused before the charge."""
    with pytest.raises(InvalidParameter, match="random_state"):
        release(Laplace.for_budget(Budget(0.5)), 1.0, label="x", ledger=ledger, random_state=seed)
    assert steps == []
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize("label", ["", " ", None, 5, "two\nlines", "x" * 2000])
def test_a_bad_label_is_refused_before_anything(label: object, ledger: Ledger, steps: list[str]) -> None:
    """A charge needs a short printable label."""
    with pytest.raises(InvalidParameter, match="label"):
        release(Laplace.for_budget(Budget(0.5)), 1.0, label=label, ledger=ledger)
    assert steps == []
    assert ledger.spent == Budget(0)


# One door, by structure: what the source code of the package may mention where.

PACKAGE = Path(tacit.__file__).parent
RANDOM_MODULES = {"random", "secrets", "randomgen", "numpy.random", "uuid"}
DRAWING = {"uniform", "laplace", "gaussian", "spherical", "gumbel", "repetitions", "one_of", "within"}
COINS = {"permutation"}
COIN_TOSSERS = {"evaluation/splits.py"}
"""What is no noise but public coins, tossed without looking at a record, and who may toss them."""


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return [(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def _dotted(node: ast.AST) -> str:
    """Return "a.b.c" for a chain of attributes, or what is known of it."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _randomness(tree: ast.Module) -> set[str]:
    """Return every mention of a source of randomness in a module, except in type annotations of seeds."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in RANDOM_MODULES}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if name in RANDOM_MODULES | {"os.urandom", "os.getrandom"}}
            found |= set() if names == {"uuid.UUID"} else {node.module} & RANDOM_MODULES  # a type, which makes none
        elif isinstance(node, ast.Attribute):
            name = _dotted(node)
            if name in ("np.random", "numpy.random", "os.urandom", "os.getrandom", "scipy.stats"):
                found.add(name)
    return found


def test_only_one_module_mentions_randomness() -> None:
    """numpy's, Python's, the system's and randomgen's generators appear in noise.py and nowhere else."""
    assert {name for name, tree in _modules() if _randomness(tree)} == {"noise.py"}


@pytest.mark.parametrize(
    "code",
    ["import random", "import secrets", "from numpy import random", "from numpy.random import default_rng",
     "import numpy as np\nx = np.random.default_rng(1)", "from os import urandom", "import os\nos.urandom(3)",
     "import randomgen", "from randomgen import ChaCha", "import numpy.random"],
)  # fmt: skip
def test_the_search_for_randomness_finds_it(code: str) -> None:
    """Each usual way to get at random numbers is noticed."""
    assert _randomness(ast.parse(code))


SOURCES = {"source_for", "SystemEntropy", "Rehearsal"}


def _names_a_source(tree: ast.Module) -> bool:
    """Whether a module could make a source of randomness, or draw from one by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and SOURCES & {alias.name for alias in node.names}:
            return True
        if isinstance(node, ast.Attribute) and node.attr in SOURCES | {"generator"}:
            return True
    return False


def _drawing_calls(function: ast.AST) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """Yield the calls that draw noise or apply a mechanism, each with the source it is given."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name.split(".")[-1] in DRAWING and name.rsplit(".", 1)[0] in ("noise", "tacit.noise", name):
                yield node, node.args[0] if node.args else None
            elif isinstance(node.func, ast.Attribute) and node.func.attr in ("randomise", "noise"):
                yield node, node.args[-1] if node.args else None


def _passes_its_own_source(function: ast.FunctionDef) -> bool:
    """Whether all that a function draws comes from the source it was given as a parameter."""
    given = {argument.arg for argument in function.args.args}
    return all(
        isinstance(source, ast.Name) and source.id == "source" and "source" in given
        for _, source in _drawing_calls(function)
    )


def _releasing_modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules that handle records on a user's behalf: the auditor plays with data sets of its own.

    Its exhibits are broken on purpose, and that nothing else imports it is checked below.
    """
    yield from ((name, tree) for name, tree in _modules() if not name.startswith("audit/"))


def test_nothing_but_the_command_line_imports_the_auditor() -> None:
    """No release can come from an exhibit: the auditor is imported by its own command alone."""
    for name, tree in _releasing_modules():
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert name == "cli/audit.py" or not any(module.startswith("tacit.audit") for module in imported), name


def test_only_the_door_makes_a_source() -> None:
    """Sources of noise are made in releases.py alone; who else makes one tosses public coins and draws no noise."""
    makers = {name for name, tree in _releasing_modules() if _names_a_source(tree)}
    assert {"noise.py", "releases.py"} <= makers <= {"noise.py", "releases.py"} | COIN_TOSSERS
    assert not any(name in COIN_TOSSERS and any(_drawing_calls(tree)) for name, tree in _releasing_modules())


def test_whatever_draws_was_handed_its_source_through_the_door() -> None:
    """Outside the door every draw and every mechanism applied by another uses its function's parameter `source`."""
    drawing = set()
    for name, tree in _releasing_modules():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        inside = {id(call) for function in functions for call, _ in _drawing_calls(function)}
        assert {id(call) for call, _ in _drawing_calls(tree)} == inside, name
        drawing |= {name for function in functions if any(_drawing_calls(function))}
        if name != "noise.py" and name != "releases.py":
            assert all(_passes_its_own_source(function) for function in functions), name
    assert {"mechanisms/laplace.py", "mechanisms/gaussian.py", "mechanisms/mechanism.py", "releases.py"} <= drawing


@pytest.mark.parametrize(
    "code",
    ["def f(value):\n    return noise.laplace(SystemEntropy(), 1, 1)", "def f(x):\n    return noise.gumbel(source, 1)",
     "def f(mechanism, source):\n    return mechanism.randomise(1.0, Rehearsal(7))", "def f(m):\n    m.randomise()",
     "def f(source):\n    return laplace(another, 1, 1)"],
)  # fmt: skip
def test_the_search_for_other_doors_finds_them(code: str) -> None:
    """A function that draws from a source of its own making is noticed."""
    (function,) = ast.parse(code).body
    assert not _passes_its_own_source(function)


def test_every_drawing_function_is_guarded() -> None:
    """Whatever noise.py exports that takes a source and draws from it is on the list that is searched for."""
    tree = ast.parse((PACKAGE / "noise.py").read_text(encoding="utf-8"))
    takers = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and [arg.arg for arg in node.args.args][:1] == ["source"]
    }
    assert takers == DRAWING | COINS
