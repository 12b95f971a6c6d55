"""The report: one HTML page that needs nothing else, for a person to look at, print and pass on.

Every word of somebody else's (names of columns, levels, classes) is text and nothing but text: jinja2 escapes it, and
pictures are built as trees. The page runs no script, loads nothing and says only what is public or was released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from tacit.accounting.meaning import explain
from tacit.accounting.unit import PUBLIC
from tacit.data.schema import Schema
from tacit.estimators.effects import Effect
from tacit.reports.card import Card
from tacit.reports.drawing import bars, budget_picture, effect_picture, guess_picture, shown
from tacit.reports.facts import column_in_words
from tacit.reports.registry import OPEN, flat
from tacit.version import VERSION

_MOST_PICTURES = 30
_MOST_COLUMNS = 200
_LONGEST = 4000
_SOFT = 1.1


@final
@dataclass(frozen=True)
class Scored:
    """One private score: what it is called, its value, how far noise and sample may have it off, in words."""

    name: str
    value: str
    interval: str = ""


def model_page(
    model: Any,
    card: Card,
    *,
    again: str = "",
    scores: Sequence[Scored] = (),
    scores_guarantee: str = "",
    pictures: Sequence[Markup] = (),
) -> str:
    """Return the page about a fitted model; `scores` and `pictures` are of a private evaluation, if there was one."""
    release, encoder = model.release_, getattr(model, "encoder_", None)
    drawn, left_out = _learned(model)
    return _template().render(
        title=type(model).__name__
        if encoder is None
        else f"{type(model).__name__}: {shown(str(encoder.schema.target))}",
        private=release.private,
        guarantee=release.guarantee,
        words="" if release.budget is None or not release.private else explain(release.budget, release.unit),
        guess="" if release.budget is None or not release.private else guess_picture(release.budget),
        drawn=drawn,
        left_out=left_out,
        noise_known=bool(np.all(np.isfinite(getattr(model, "coef_noise_", np.nan)))),
        averaged=not hasattr(model, "coef_"),
        legend=[shown(str(name)) for name in getattr(model, "classes_", [])],
        scores=scores,
        scores_guarantee=scores_guarantee,
        pictures=pictures,
        public=[shown(fact, 200) for fact in (PUBLIC[release.unit], *release.public)],
        columns=[] if encoder is None else _columns(encoder.schema),
        spent=_spent(card),
        again=again,
        fields=[(path, _cut(value), OPEN in str(value)) for path, value in flat(card.record)],
        own=[(path, _cut(value)) for path, value in _leaves(card.tacit)],
        version=VERSION,
    )


def _learned(model: Any) -> tuple[list[Markup], int]:
    """Return pictures of what was learned, the strongest first, and how many more there are."""
    if getattr(model, "encoder_", None) is not None and hasattr(model, "curves_"):
        found = sorted(model.curves_.values(), key=_strength, reverse=True)
        reach = max((_reach(effect) for effect in found), default=1.0) or 1.0
        pictures = [effect_picture(effect, -reach * _SOFT, reach * _SOFT) for effect in found[:_MOST_PICTURES]]
        return pictures, max(0, len(found) - _MOST_PICTURES)
    if not hasattr(model, "coef_"):
        return [], 0
    rows, noises = np.atleast_2d(model.coef_), getattr(model, "coef_noise_", None)
    bands = [None] * len(rows) if noises is None else np.atleast_2d(noises)
    names = getattr(model, "feature_names_in_", [f"x{place}" for place in range(rows.shape[1])])
    return [bars(list(map(str, names)), row, band) for row, band in zip(rows, bands, strict=True)][:_MOST_PICTURES], 0


def _strength(effect: Effect) -> float:
    """Return how far an effect reaches: a curve from end to end, levels typically, since noise makes some stand out."""
    is_curve = not isinstance(effect.values, tuple) and np.asarray(effect.values).dtype.kind not in "OU"
    return float(np.ptp(effect.effect) if is_curve else 2 * np.std(effect.effect))


def _reach(effect: Effect) -> float:
    band = 0.0 if effect.noise is None else 2 * np.nan_to_num(effect.noise)
    return float(np.max(np.abs(effect.effect) + band))


def _columns(schema: Schema) -> list[tuple[str, str]]:
    declared = [(shown(name), _cut(column_in_words(column))) for name, column in schema.columns.items()]
    more = len(declared) - _MOST_COLUMNS
    return declared[:_MOST_COLUMNS] + ([("...", f"{more} more columns")] if more > 0 else [])


def _spent(card: Card) -> Mapping[str, Any] | None:
    """Return the account's amounts and a picture of them."""
    ledger, charged = card.tacit.get("ledger"), card.tacit.get("charged")
    if not isinstance(ledger, Mapping) or not isinstance(charged, Mapping):
        return None
    now, spent, left = (_epsilon(each) for each in (charged, ledger["spent"], ledger["left"]))
    entry = card.tacit.get("entry") or {}
    # Parts are charged in parallel: what this release cost is no piece of what the account has spent.
    parallel = bool(entry.get("part"))
    return {
        "account": shown(str(ledger["name"])),
        "budget": ledger["budget"]["words"],
        "now": charged["words"],
        "spent": ledger["spent"]["words"],
        "left": ledger["left"]["words"],
        "entry": entry.get("number", "none"),
        "head": ledger["head"],
        "parallel": parallel,
        "picture": budget_picture(spent, 0.0, left) if parallel else budget_picture(max(0.0, spent - now), now, left),
    }


def _epsilon(amount: Mapping[str, str]) -> float:
    top, _, bottom = amount["epsilon"].partition("/")
    return int(top) / int(bottom or 1)


def _leaves(plain: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in plain.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", ", ".join(map(str, value)) if isinstance(value, list) else value))
    return found


def _cut(value: Any) -> str:
    return shown(str(value), _LONGEST)


@cache
def _template() -> Template:
    text = files("tacit.reports").joinpath("page.html").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
