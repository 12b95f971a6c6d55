"""The report is one page that runs nothing, loads nothing, quotes nothing as code, and shows what was released."""

import copy
import html
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from support.fitted_models import NAMES, fitted_model
from support.needs import needed
from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema
from tacit.data import Category, Number
from tacit.estimators.effects import Effect
from tacit.evaluation import report
from tacit.evaluation.figure import number
from tacit.reports import card_of_ledger, card_of_model
from tacit.reports.card import card_of_scores
from tacit.reports.drawing import COLOURS, budget_picture, effect_picture, guess_picture, shown, square_picture, ticks
from tacit.reports.page import learned, model_page
from tacit.reports.scores import at_thresholds, pictures_of, scored

HOSTILE = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</title><svg onload=alert(1)>", "{{ 7 * 7 }}",
    "{% raw %}", "&lt;b&gt;", "javascript:alert(1)", "\x00\x1b[31m\u202e", "' onclick='x", "a" * 5000, "-->", "]]>",
)  # fmt: skip
DRAWN = {"polyline", "polygon", "text", "circle", "rect"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tags(HTMLParser):
    """The tags and the attributes of a page; an end without its beginning is a fault."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.faults = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        """Remember a tag."""
        self.found.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """Remember a tag that is its own end."""
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        """Match an end with its beginning."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def _inert(page):
    """Assert that a page has no script, no handler and no address of anything, and that its tags are balanced."""
    tags = Tags(page)
    assert tags.faults == tags.open == []
    names = {tag for tag, _ in tags.found}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "base", "form", "image", "use", "a"}
    for _, attributes in tags.found:
        assert not any(name.startswith("on") or name in ("href", "src", "xlink:href", "action") for name in attributes)
    assert "default-src 'none'" in page
    return tags


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_a_page_that_runs_nothing(name):
    """For every kind of model: inert, below 2 MB, with the guarantee and the card on it."""
    model, _ = fitted_model(name)
    card = card_of_model(model)
    page = model_page(model, card, again="tacit train x.csv")
    _inert(page)
    assert len(page.encode()) < 2_000_000
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert model.release_.guarantee in text
    assert "tacit train x.csv" in text
    assert all(word in text for word in ("registry_author", "OPEN, for a person"))
    assert ("NOT private" in text) == (not model.release_.private)


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text(word):
    """Names of columns, levels and classes that look like code stand on the page as text, and change no tag."""
    clean = word.replace("\x00", "").strip() or "x"
    generator = np.random.default_rng(0)

    def page_for(name):
        schema = Schema(
            {name: Number(0, 1), f"{name} ": Category([f"{name}1", "b"]), "y": Category([f"{name}c", "d"])}, target="y"
        )
        table = {name: generator.random(50), f"{name} ": ["b"] * 50, "y": ["d"] * 50}
        model = PrivateLogisticRegression(1.0).fit(Records(table, schema))
        return model_page(model, card_of_model(model, answers={"author": name}))

    def tags(page):
        # How much is drawn depends on the noise.
        return [tag for tag, _ in _inert(page).found if tag not in DRAWN]

    assert tags(page_for(clean)) == tags(page_for("plain"))


def test_the_page_says_what_was_spent_and_is_left(tmp_path):
    """Budget, this release, the rest and the head of the ledger are on it."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="clinic", budget=Budget(1))
    records = Records({"a": np.arange(100.0), "y": ["d", "e"] * 50}, _SCHEMA)
    model = PrivateLogisticRegression(0.25, ledger=ledger).fit(records)
    page = model_page(model, card_of_model(model, ledger=ledger))
    assert all(words in page for words in ("epsilon=0.25, delta=0", "epsilon=0.75, delta=0", ledger.head))
    alone = model_page(model, card_of_model(model))
    assert "nobody remembers" in alone
    assert ledger.head not in card_of_model(model).to_yaml() or "entry" in card_of_model(model).tacit
    assert card_of_ledger(ledger).tacit["ledger"]["head"] == ledger.head


_THREE = {"a": Number(0, 100), "y": Category(["d", "e", "f"])}
_SCHEMA = Schema({"a": Number(0, 100), "y": Category(["d", "e"])}, target="y")


def test_private_scores_are_shown_with_their_intervals():
    """Every figure of an evaluation stands there with where noise leaves it, and its curves are drawn."""
    for name in ("records", "records, regression"):
        model, rows = fitted_model(name)
        told = report(model, Records(rows, model.encoder_.schema), epsilon=1.0)
        card = card_of_scores(model, told.release)
        page = model_page(
            model, card, scores=scored(told), scores_guarantee=told.release.guarantee, pictures=pictures_of(told)
        )
        _inert(page)
        assert all(number(figure.value) in page for figure in told.figures().values())
        assert card.record["deployment"]["data_product_type"] == "summary statistics"
        assert ("<title>ROC</title>" in page) == (name == "records")


def test_effects_say_what_they_are_a_change_of():
    """The page in a sentence, each picture above its scale; what is clearest of its noise comes first."""
    for name, unit in (("records", "log-odds"), ("records, regression", "value")):
        model, _ = fitted_model(name)
        unit = unit if name == "records" else str(model.encoder_.schema.target)
        page = model_page(model, card_of_model(model))
        assert f"The change of {unit} when one column alone changes" in page
        assert page.count(f">change of {unit}</text>") == len(model.curves_)
    values = np.array([0.0, 1.0])
    loud = Effect("loud", values, np.array([-9.0, 9.0]), np.array([9.0, 9.0]))
    clear = Effect("clear", values, np.array([-1.0, 1.0]), np.array([0.1, 0.1]))
    first, second = learned(SimpleNamespace(encoder_=1, curves_={"loud": loud, "clear": clear})).pictures
    assert "effect of clear" in first
    assert "effect of loud" in second


def test_pictures_stay_within_their_frame():
    """No number of a drawing is outside of it or not finite, whatever is drawn."""
    drawn = [guess_picture(Budget(epsilon)) for epsilon in (1e-3, 1, 1e3)]
    drawn += [budget_picture(0, 0, 0), budget_picture(1, 1e-9, 1e9)]
    for name in ("records", "records, curves", "records, knots", "records, regression"):
        drawn += [effect_picture(effect, -1e-3, 1e-3) for effect in fitted_model(name)[0].curves_.values()]
    for picture in drawn:
        assert "nan" not in picture
        assert "inf" not in picture
    assert list(ticks(-1, 1)) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert len(list(ticks(0, 1e-12))) in range(3, 9)
    assert shown("a\x00b\u202e") == "a\\x00b\\u202e"
    assert len(shown("x" * 1000)) == 60


@pytest.mark.parametrize("name", ["records", "records, regression", "records, curves"])
def test_every_word_of_a_drawing_has_room(name):
    """At a generous width for a letter no caption, level or number leaves its drawing, whatever columns are called."""
    model, rows = fitted_model(name)
    long = "a column of a long and telling name, in many words"
    effects = [replace(effect, column=long) for effect in model.curves_.values()]
    drawn = [effect_picture(effect, -3e6, 3e6) for effect in effects]
    drawn += pictures_of(report(model, Records(rows, model.encoder_.schema), epsilon=1.0))
    drawn += [square_picture(title, "false alarms", "hits", []) for title in ("ROC", "ROC of each class")]
    for picture in drawn:
        texts = re.findall(r'<text x="([\d.-]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]*)</text>', picture)
        assert len(texts) == picture.count("<text")
        for x, anchor, words in texts:
            wide = 6.4 * len(html.unescape(words))
            left = float(x) - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            assert left >= 0, words
            assert left + wide <= 300, words


def test_scores_are_not_broken_on_a_phone():
    """The cell of a value keeps it on one line: 0.5932 is one number. What was judged stands above the figures."""
    model, rows = fitted_model("records")
    told = report(model, Records(rows, model.encoder_.schema), epsilon=1.0)
    page = model_page(model, card_of_scores(model, told.release), scores=scored(told))
    assert page.count('<td class="number">') == 1 + len(told.figures()) + len(at_thresholds(told))
    assert "td.number { white-space: nowrap;" in page


def test_no_band_hides_a_line():
    """Of several classes all bands are drawn first: a later one would take the colour of a line below it."""
    records = Records({"a": np.arange(90.0), "y": ["d", "e", "f"] * 30}, Schema(_THREE, target="y"))
    picture = effect_picture(PrivateLogisticRegression(1.0).fit(records).curves_["a"], -1, 1)
    assert picture.count("<polygon") == 3
    assert picture.rindex("<polygon") < picture.index('class="curve')


@pytest.mark.parametrize("width", [500, 1200])
def test_a_browser_shows_the_page_without_a_word_of_complaint(tmp_path, width):
    """Chromium draws it at a phone's and a desktop's width; its console, which tells refused loads, stays empty."""
    chromium = needed("chromium", "Debian's chromium")
    model, _ = fitted_model("records, curves")
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(model_page(model, card_of_model(model)), "utf-8")
    done = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr", f"--window-size={width},2000", f"--screenshot={picture}", page.as_uri(),
        ],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert picture.stat().st_size > 20_000
    assert b"CONSOLE" not in done.stderr


@pytest.mark.parametrize("reach", [*np.geomspace(1e-3, 1e4, 97), 0.45, 4.9])
def test_an_axis_around_zero_names_at_least_a_height_on_either_side(reach):
    """However far effects reach, a scale has zero and a round number above and below it, and not more than five."""
    named = list(ticks(-reach, reach))
    assert 3 <= len(named) <= 5
    assert 0.0 in named
    assert max(map(abs, named)) <= reach * (1 + 1e-9)


def _of_classes(count, columns, peak=1.0):
    """Return a model of so many classes with effects of columns that were made up, and its card."""
    names = [f"class {place:03}" for place in range(count)]
    table = {f"c{place}": np.arange(60) / 60 for place in range(3)} | {"y": (names * 60)[:60]}
    schema = Schema({**{f"c{place}": Number(0, 1) for place in range(3)}, "y": Category(names)}, target="y")
    model = PrivateLogisticRegression(1.0, random_state=1).fit(Records(table, schema))
    values = np.linspace(0, 1, 40)
    slopes = np.arange(count)[:, None] * peak
    effects = {
        f"c{place}": Effect(f"c{place}", values, slopes * (values - 0.5), np.full((count, 40), 0.1))
        for place in range(columns)
    }
    return model, effects


@pytest.mark.parametrize("count", [3, 700])
def test_a_picture_shows_as_many_classes_as_there_are_colours(count, monkeypatch):
    """Of 700 classes those that the columns tell most are drawn, the others counted; the page stays under 2 MB."""
    model, effects = _of_classes(count, 30)
    monkeypatch.setattr(type(model), "curves_", effects)
    drawn = learned(model)
    kept = min(count, COLOURS)
    assert list(drawn.legend) == [f"class {place:03}" for place in range(count - kept, count)]
    assert all(picture.count('class="curve') == kept for picture in drawn.pictures)
    assert drawn.classes_left_out == count - kept
    page = model_page(model, card_of_model(model))
    assert len(page.encode()) < 2 * 10**6
    assert (f"the {count - kept} classes that the columns tell least are not drawn" in page) == (count > kept)


def test_the_effect_of_a_pair_of_many_levels_is_drawn_at_some_of_them():
    """A table of 300 by 300 squares would be megabytes: at most 20 by 20 are drawn."""
    pair = Effect("a * b", (np.arange(300), np.arange(300)), np.ones((300, 300)), None)
    assert effect_picture(pair, -1, 1).count("<rect") == 400


@pytest.mark.parametrize("size", [1.7e308, np.inf, np.nan])
def test_numbers_that_no_scale_holds_are_left_out_without_a_word(size):
    """A model file from elsewhere may hold them: its page is made, and says that they are not drawn."""
    for name in ("records", "two classes", "three classes"):
        model = copy.deepcopy(fitted_model(name)[0])
        model.coef_ = np.full_like(model.coef_, size)
        page = model_page(model, card_of_model(model))
        assert "are not drawn" in page
        assert "nan" not in page.split("What was learned")[1].split("<h2>")[0]


WORDS = {
    "tree, records": "if age",
    "list": "else: ",
    "conjunction": "up where all of these hold, else down",
    "naive bayes, records": "ward is A: false",
    "k-means": "group 3: x",
    "k-means, records": "group 1: age",
    "components": "direction 2 (",
    "landmarks": "public points",
    "kernel regression": "fitted on Records shows",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_page_says_what_was_learned(name):
    """As pictures where there are coefficients or curves, else in words: rules, groups, directions, shares."""
    model = fitted_model(name)[0]
    page = model_page(model, card_of_model(model))
    told = page.split("What was learned")[1].split("<h2>")[0]
    assert "<svg" in told or html.escape(WORDS.get(name, "")) in told.replace("&gt;", ">")
    assert name not in WORDS or "<svg" not in told
    _inert(page)
