"""Models of curves: chosen by public quantities, refused uncharged, shown in the user's units."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import load, save
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Flag, Number, Ordinal, Records, Schema
from tacit.data.curves import Curves
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.losses.standard import Logistic
from tacit.erm.perturbations.coding import default_curves
from tacit.erm.regression import PrivateLinearRegression
from tacit.errors import InvalidParameter
from tacit.estimators.effects import Effect, Link
from tacit.estimators.probabilities import probabilities
from tacit.reports.drawing import effect_picture

COLUMNS = {
    "age": Number(0, 100),
    "gain": Number(0, 1e5, log=True),
    "grade": Ordinal(["low", "mid", "high"]),
    "home": Category(["x", "y"]),
}
CLASSES = Schema(COLUMNS | {"ill": Flag()}, target="ill")
COSTS = Schema(COLUMNS | {"cost": Number(0, 10)}, target="cost")
COINS = np.random.default_rng(5)
AGES = COINS.uniform(0, 100, 4000)
TABLE = {
    "age": AGES,
    "gain": np.exp(COINS.uniform(0, 11, 4000)),
    "grade": COINS.choice(["low", "mid", "high"], 4000),
    "home": COINS.choice(["x", "y"], 4000),
    "ill": np.abs(AGES - 50) < 25,
    "cost": np.abs(AGES - 50) / 5,
}
MODELS = [
    (PrivateLogisticRegression(8, random_state=0), CLASSES),
    (PrivateLinearSVC(8, random_state=0), CLASSES),
    (PrivateERM(Logistic(), 8, random_state=0), CLASSES),
    (PrivateLinearRegression(8, 1e-6, random_state=0), COSTS),
]


@pytest.mark.parametrize(("model", "schema"), MODELS)
def test_a_bent_effect_is_learned_and_shown(model: Any, schema: Schema) -> None:
    """Where the middle differs from both ends, a default fit finds it, and `curves_` shows it over the ages."""
    fitted = model.fit(Records(TABLE, schema))
    lines = type(model)(**model.get_params() | {"curves": False}).fit(Records(TABLE, schema))
    effect = fitted.curves_["age"]
    middle = np.interp(50, effect.values, np.ravel(effect.effect))
    ends = np.ravel(effect.effect)[[0, -1]]
    assert (middle - ends).min() * (1 if schema is CLASSES else -1) > 0.5
    assert len(lines.curves_["age"].values) == 2
    assert effect.values[0] == 0
    assert effect.values[-1] == 100


def test_effects_add_up_to_the_score() -> None:
    """A record's effects and the constant, by the typical length over that of its code, are its score."""
    model = PrivateERM(Logistic(), 8, random_state=0, curves=5, interactions=[("age", "gain")])
    model.fit(Records(TABLE, CLASSES))
    effects, encoder = model.curves_, model.encoder_
    assert list(effects) == ["age", "gain", "grade", "home", "age * gain"]

    def codes(table: dict[str, Any], *pair: Any) -> list[Any]:
        clean = {name: COLUMNS[name].clean(np.array(cell))[0] for name, cell in table.items()}
        ends = [COLUMNS[name].clean(np.array(cell))[0] for name, cell in zip(("age", "gain"), pair, strict=True)]
        found = [encoder.code(name, cell) for name, cell in clean.items()]
        return [*found, encoder.surface(("age", "gain"), *ends)]

    ages, gains = effects["age"].values, effects["gain"].values
    shown = codes({n: effects[n].values for n in COLUMNS}, np.repeat(ages, len(gains)), np.tile(gains, len(ages)))
    typical = math.sqrt(0.25 + sum(np.square(code).sum(axis=1).mean() for code in shown))
    cells = {"age": [25.0], "gain": [1e5], "grade": ["high"], "home": ["y"]}
    at = {"age": 1, "gain": -1, "grade": 2, "home": 1}
    total = sum(effects[name].effect[place] for name, place in at.items()) + effects["age * gain"].effect[1, -1]
    length = math.sqrt(sum(np.square(block).sum() for block in codes(cells, cells["age"], cells["gain"])) + 0.25)
    score = (total * typical + 0.5 * model.coef_[-1]) / length
    np.testing.assert_allclose(model.decision_function(cells), score, rtol=1e-9)


def test_the_effect_on_a_number_is_what_its_prediction_moves_by() -> None:
    """In units of the target, for every record: whatever stands in the other columns, the prediction moves as drawn."""
    model = PrivateLinearRegression(8, 1e-6, random_state=0).fit(Records(TABLE, COSTS))
    for name, others in (("age", {"gain": 5.0, "grade": "low", "home": "x"}), ("gain", {"age": 3.0, "home": "y"})):
        effect = model.curves_[name]
        assert effect.unit == "cost"
        rows = {other: [value] * len(effect.values) for other, value in ({"age": 1.0, "grade": "mid"} | others).items()}
        said = model.predict(rows | {name: effect.values})
        np.testing.assert_allclose(np.diff(np.ravel(effect.effect)), np.diff(said), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 8])
def test_the_effect_on_two_classes_is_in_log_odds(epsilon: float) -> None:
    """Of a record that is typical in the rest: log-odds move by about as much as is drawn, with a margin and without.

    How long a record's code is stands between the two, which is why they are near each other and not the same.
    """
    model = PrivateLogisticRegression(epsilon, random_state=0).fit(Records(TABLE, CLASSES))
    effect = model.curves_["age"]
    assert effect.unit == "log-odds"
    others = {"gain": [np.expm1(np.log1p(1e5) / 2)], "grade": ["mid"], "home": ["x"]}
    rows = {name: cell * len(effect.values) for name, cell in others.items()}
    chance = model.predict_proba(rows | {"age": effect.values})[:, 1]
    moved = np.ptp(np.log(chance) - np.log1p(-chance))
    assert 0.6 < np.ptp(effect.effect) / moved < 1.6


def test_log_odds_are_those_of_the_probabilities() -> None:
    """The link of a margin says the same as the probabilities, and its slope is its derivative."""
    scores = np.linspace(-9, 9, 19)
    for margin in (0.0, 0.7, 3.0):
        link = Link("log-odds", margin)
        chance = probabilities(scores, margin)
        np.testing.assert_allclose(link.answer(scores), np.log(chance[:, 1]) - np.log(chance[:, 0]), atol=1e-9)
        slope = (link.answer(scores + 1e-6) - link.answer(scores - 1e-6)) / 2e-6
        np.testing.assert_allclose(link.slope(scores), slope, atol=1e-8)


def test_effects_carry_the_noise_of_the_coefficients() -> None:
    """An effect's band is what its coefficients' bounds allow, and there is one wherever the model knows them."""
    model = PrivateLinearRegression(8, 1e-6, random_state=0, curves=5).fit(Records(TABLE, COSTS))
    model.coef_noise_ = np.full_like(model.coef_, 0.25)
    code = model.encoder_.code("age", np.array([0.0, 25.0, 50.0, 75.0, 100.0]))
    code = code / model.encoder_.longest
    np.testing.assert_allclose(model.curves_["age"].noise, 0.25 * np.linalg.norm(code, axis=1))
    model.coef_noise_ = np.linspace(0.1, 0.2, model.coef_.size)
    np.testing.assert_allclose(model.curves_["age"].noise, np.abs(code) @ model.coef_noise_[: code.shape[1]])


def test_every_effect_can_be_drawn() -> None:
    """Numbers, levels and pairs are drawn on one figure; a column that is not there is named."""
    model = PrivateLogisticRegression(8, random_state=0, curves=5, interactions=[("age", "gain")])
    effects = model.fit(Records(TABLE, CLASSES)).curves_
    drawn = [axes for axes in effects.plot().axes if axes.get_title()]
    assert [axes.get_title() for axes in drawn] == ["age", "gain", "grade", "home", "age * gain"]
    assert [axes.get_title() for axes in effects.plot("home").axes] == ["home"]
    assert {axes.get_ylabel() for axes in drawn[:-1]} == {"change of log-odds"}
    assert len({axes.get_ylim() for axes in drawn[:-1]}) == 1, "one scale for all"
    assert [axes.get_xscale() for axes in drawn[:2]] == ["linear", "symlog"]
    with pytest.raises(InvalidParameter, match="size"):
        effects.plot("size")


def test_a_pair_is_drawn_for_every_score_with_its_scale_and_its_noise() -> None:
    """Each score has a table of its own, colours have a scale about 0, and dots are on what noise may be."""
    tables = np.arange(-12.0, 12.0).reshape(2, 3, 4)
    noise = np.where(np.arange(24).reshape(2, 3, 4) % 2, 100.0, 1e-9)
    effect = Effect("age * home", (np.array([0.0, 5.0, 9.0]), np.array(list("abcd"))), tables, noise)
    axes = effect.plot()
    (image,) = axes.get_images()
    drawn = np.asarray(image.get_array())
    assert drawn.shape == (3, 9)
    np.testing.assert_array_equal(drawn[:, :4], tables[0])
    np.testing.assert_array_equal(drawn[:, 5:], tables[1])
    assert image.get_clim() == (-12.0, 12.0)
    assert image.colorbar is not None
    dots = {(int(x), int(y)) for x, y in axes.collections[0].get_offsets()}
    hidden = {(5 * score + second, first) for score, first, second in np.argwhere(effect.unclear)}
    assert len(dots) == 13
    assert dots == hidden
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "9"]
    alone = Effect("age * home", effect.values, tables[0], None).plot()
    assert np.asarray(alone.get_images()[0].get_array()).shape == (3, 4)
    assert len(alone.collections[0].get_offsets()) == 0


def test_the_report_draws_a_pair_for_every_score_with_its_noise() -> None:
    """A square for each pair of values and score, and a speck on each that noise may be."""
    tables = np.arange(-12.0, 12.0).reshape(2, 3, 4)
    effect = Effect("age * home", (np.arange(3.0), np.array(list("abcd"))), tables, np.full(tables.shape, 1.0))
    picture = str(effect_picture(effect, -12.0, 12.0))
    assert picture.count("<rect") == 24
    assert picture.count('class="speck"') == np.count_nonzero(np.abs(tables) <= 2) == 5
    assert "dots: noise" in picture
    clear = str(effect_picture(Effect("age * home", effect.values, tables, None), -12.0, 12.0))
    assert "speck" not in clear
    assert "dots" not in clear


def test_more_budget_bends_more_and_little_budget_not_at_all() -> None:
    """With and without a delta, curves are nothing but lines for the smallest budgets and full for the largest."""
    for delta in (0.0, 1e-6):
        for wide in (False, True):
            found = [default_curves(Budget(e, delta), CLASSES, 4000, 1, wide) for e in (0.001, 0.3, 3, 40)]
            sizes = [0.0 if curves is None else curves.knots * curves.share for curves in found]
            assert sizes == sorted(sizes)
            assert sizes[0] == 0
            assert sizes[-1] > 8
    assert default_curves(None, CLASSES, 4000, 1, wide=False) == Curves(17)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"curves": 1}, "knots"),
        ({"curves": 10_000}, "knots"),
        ({"curves": True}, "knots"),
        ({"curves": "many"}, "curves"),
        ({"interactions": [("age", "weight")]}, "interactions"),
        ({"interactions": [("age", "ill")]}, "interactions"),
        ({"interactions": [("age", "cost")]}, "interactions"),
    ],
)
@pytest.mark.parametrize(("model", "schema"), MODELS)
def test_public_nonsense_is_refused_uncharged(
    model: Any, schema: Schema, asked: dict[str, Any], match: str, tmp_path: Path
) -> None:
    """One knot, ten thousand of them, unknown columns and the target as an input: no charge is made."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10, 1e-3))
    told = model.get_params() | asked | {"ledger": ledger, "random_state": None}
    with pytest.raises(InvalidParameter, match=match):
        type(model)(**told).fit(Records(TABLE, schema))
    assert ledger.entries() == []


@pytest.mark.parametrize("asked", [{"curves": 9}, {"interactions": [("age", "gain")]}])
def test_rows_without_a_schema_cannot_bend(asked: dict[str, Any]) -> None:
    """Where nothing is declared there is no scale to put knots on, and the refusal says what to do."""
    with pytest.raises(InvalidParameter, match="Records"):
        PrivateLogisticRegression(1, data_norm=1.0, **asked).fit([[0.0], [1.0]], [0, 1])


def test_a_model_without_records_has_no_curves() -> None:
    """`curves_` is no attribute of a model that was fitted to an array."""
    model = PrivateLogisticRegression(1, data_norm=1.0, random_state=0).fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "curves_")


@pytest.mark.parametrize(("model", "schema"), [pair for pair in MODELS if type(pair[0]) is not PrivateERM])
@pytest.mark.parametrize("asked", [{}, {"epsilon": 0.2}, {"curves": 5, "interactions": [("age", "gain")]}])
def test_a_saved_model_bends_as_before(model: Any, schema: Schema, asked: dict[str, Any], tmp_path: Path) -> None:
    """Curves and pairs are kept in the file, as plain values."""
    fitted = type(model)(**model.get_params() | asked).fit(Records(TABLE, schema))
    save(fitted, tmp_path / "model.tacit")
    again = load(tmp_path / "model.tacit")
    np.testing.assert_array_equal(again.predict(TABLE), fitted.predict(TABLE))
    np.testing.assert_array_equal(again.curves_["age"].effect, fitted.curves_["age"].effect)
