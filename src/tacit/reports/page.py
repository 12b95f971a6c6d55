"""The report: one HTML page that needs nothing else, for a person to look at, print and pass on.

Every word of somebody else's (names of columns, levels, classes) is text and nothing but text: jinja2 escapes it, and
pictures are built as trees. The page runs no script, loads nothing and says only what is public or was released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, final

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from tacit.accounting.meaning import explain
from tacit.accounting.unit import PUBLIC
from tacit.data.column_words import column_in_words
from tacit.data.schema import Schema
from tacit.estimators.effects import Effect
from tacit.estimators.learned_from import learned_from
from tacit.reports.card import Card
from tacit.reports.drawing import COLOURS, bars, budget_picture, effect_picture, guess_picture, shown
from tacit.reports.learned import lines_about
from tacit.reports.registry import OPEN, flat
from tacit.version import VERSION

REHEARSED = "rehearsal"
"""What a page says of itself that no budget was spent on."""
_MOST_PICTURES = 30
_MOST_COLUMNS = 200
_LONGEST = 4000
_LONGEST_LINE = 500
_SOFT = 1.1
_LARGEST = 1e100


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
    drawn = learned(model)
    return _template().render(
        title=type(model).__name__ + ("" if encoder is None else f": {shown(str(encoder.schema.target))}"),
        kept=REHEARSED if (scores_guarantee or release.guarantee).startswith("NOT private") else "private",
        private=release.private,
        guarantee=release.guarantee,
        words="" if release.budget is None or not release.private else explain(release.budget, release.unit),
        guess="" if release.budget is None or not release.private else guess_picture(release.budget),
        drawn=drawn.pictures,
        lines=[] if drawn.pictures or drawn.left_out else [shown(line, _LONGEST_LINE) for line in lines_about(model)],
        left_out=drawn.left_out,
        classes_left_out=drawn.classes_left_out,
        noise_known=bool(np.all(np.isfinite(getattr(model, "coef_noise_", np.nan)))),
        averaged=not hasattr(model, "coef_"),
        unit=shown(drawn.unit),
        legend=drawn.legend,
        scores=scores,
        scores_guarantee=scores_guarantee,
        pictures=pictures,
        learned_from=shown(str(learned_from(model) or ""), _LONGEST_LINE),
        public=[shown(fact, 200) for fact in (PUBLIC[release.unit], *release.public)],
        columns=[] if encoder is None else _columns(encoder.schema),
        spent=_spent(card),
        again=again,
        fields=[(path, _cut(value), OPEN in str(value)) for path, value in flat(card.record)],
        own=[(path, _cut(value)) for path, value in _leaves(card.tacit)],
        version=VERSION,
    )


@final
@dataclass(frozen=True)
class Learned:
    """Pictures of what was learned, the clearest first; what of, which classes they show, how much they leave out."""

    pictures: Sequence[Markup] = ()
    legend: Sequence[str] = ()
    left_out: int = 0
    classes_left_out: int = 0
    unit: str = ""


@np.errstate(all="ignore")
def learned(model: Any) -> Learned:
    """Draw what was learned; nothing of numbers that no scale holds, which only a file from elsewhere can have."""
    names = [shown(str(name)) for name in getattr(model, "classes_", [])]
    if getattr(model, "encoder_", None) is not None and hasattr(model, "curves_"):
        return _of_columns(list(model.curves_.values()), names)
    if not hasattr(model, "coef_"):
        return Learned()
    rows, noises = np.atleast_2d(model.coef_), getattr(model, "coef_noise_", None)
    bands = [None] * len(rows) if noises is None else np.atleast_2d(noises)
    given = getattr(model, "feature_names_in_", [f"x{place}" for place in range(rows.shape[1])])
    drawable = [pair for pair in zip(rows, bands, strict=True) if np.abs(pair[0]).max() < _LARGEST]
    pictures = [bars(list(map(str, given)), row, band) for row, band in drawable[:_MOST_PICTURES]]
    return Learned(pictures, names if len(names) == 2 else [], len(rows) - len(pictures))


def _of_columns(effects: Sequence[Effect], names: Sequence[str]) -> Learned:
    """Draw the effects of the columns, for as many classes as there are colours: those that any column tells most."""
    found = sorted(effects, key=_strength, reverse=True)
    reach = max((_reach(effect) for effect in found), default=1.0) or 1.0
    if not reach < _LARGEST:
        return Learned(left_out=len(found))
    several = [effect for effect in found if effect.effect.ndim == 2 and not isinstance(effect.values, tuple)]
    kept = np.arange(len(names))
    if several and len(names) > COLOURS:
        strengths = np.max([np.abs(effect.effect).max(axis=1) for effect in several], axis=0)
        kept = np.sort(np.argsort(-strengths, kind="stable")[:COLOURS])
        found = [_for_classes(effect, kept) for effect in found]
    pictures = [effect_picture(effect, -reach * _SOFT, reach * _SOFT) for effect in found[:_MOST_PICTURES]]
    legend = [names[int(place)] for place in kept]
    unit = found[0].unit if found else ""
    return Learned(pictures, legend, max(0, len(found) - _MOST_PICTURES), len(names) - len(kept), unit)


def _for_classes(effect: Effect, kept: Any) -> Effect:
    """Return the effect for some of the classes alone."""
    if effect.effect.ndim < (3 if isinstance(effect.values, tuple) else 2):
        return effect
    return replace(effect, effect=effect.effect[kept], noise=None if effect.noise is None else effect.noise[kept])


def _strength(effect: Effect) -> float:
    """Return how far an effect reaches, in units of its noise where that is known.

    A curve reaches from end to end; levels are taken as they typically are, since noise makes some stand out.
    """
    is_curve = not isinstance(effect.values, tuple) and np.asarray(effect.values).dtype.kind not in "OU"
    reach = float(np.ptp(effect.effect) if is_curve else 2 * np.std(effect.effect))
    noise = 0.0 if effect.noise is None else float(np.sqrt(np.mean(np.square(effect.noise))))
    return reach / noise if noise > 0 else reach


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
    now, spent, left = (float(Fraction(each["epsilon"])) for each in (charged, ledger["spent"], ledger["left"]))
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


def is_paid(page: str) -> bool:
    """Whether a text is a page about a private release: made again, it would be paid for again."""
    return "Written by tacit" in page and f'<meta name="tacit" content="{REHEARSED}">' not in page


@cache
def _template() -> Template:
    text = files("tacit.reports").joinpath("page.html").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
