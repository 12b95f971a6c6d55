"""The site: every public name has an entry and an example that runs; no page is missing or loads from afar."""

import contextlib
import inspect
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
TEXT = "".join(page.read_text("utf-8") for page in REFERENCE)


def _python(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_has_an_entry_with_an_example(name):
    """Its section shows code that uses it, and its docstring or the entries of its room."""
    found = re.search(rf"^## `tacit\.{name}`\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert _python(found[1])
    thing = getattr(tacit, name)
    if not inspect.ismodule(thing):
        assert f"::: {thing.__module__}.{name}\n" in found[1]
        return
    for member in getattr(thing, "__all__", ()):
        part = getattr(thing, member)
        if (inspect.isclass(part) or inspect.isfunction(part)) and member not in tacit.__all__:
            assert f"::: {part.__module__}.{part.__name__}\n" in found[1], member


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_the_examples_of_the_reference_run(page, tmp_path, monkeypatch):
    """Each page's code runs from top to bottom."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in _python(page.read_text("utf-8")):
            exec(block, names)


ESTIMATORS = [name for name in tacit.__all__ if hasattr(getattr(tacit, name), "get_params")]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_and_attribute_of_an_estimator_is_documented(name):
    """Each stands in its docstring or in that of a class it points to; what goes into model files is all there is."""
    kind = getattr(tacit, name)
    text = kind.__doc__ or ""
    assert "Attributes\n    ----------" in text
    for _ in range(2):
        others = set(re.findall(r"`(Private\w+|Conjunction\w+)`", text)) & set(tacit.__all__)
        text = (kind.__doc__ or "") + "".join(getattr(tacit, other).__doc__ or "" for other in sorted(others))
    fitted = getattr(kind, "saved", None)
    wanted = [*inspect.signature(kind).parameters, *(fitted.fitted if fitted is not None else ())]
    assert [word for word in wanted if not re.search(rf"\b{word}\b", text)] == []


def test_the_commands_on_the_first_page_work(tmp_path, monkeypatch):
    """With a schema and new customers in the folder, they go from a draft to predictions."""
    monkeypatch.chdir(tmp_path)
    quick = (DOCS / "quick-start.md").read_text("utf-8")
    rows = re.search(r"^```csv\n(.*?)^```", quick, re.DOTALL | re.MULTILINE)[1].splitlines()
    Path("loans.csv").write_text("\n".join([rows[0]] + [rows[1], rows[1].replace("no", "yes")] * 200) + "\n", "utf-8")
    shutil.copy("loans.csv", "new.csv")
    block = re.search(r"^```\n(tacit .*?)^```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    commands = block[1].splitlines()
    assert commands[0] == "tacit schema draft loans.csv > loans.toml"
    assert CliRunner().invoke(app, ["schema", "draft", "loans.csv"]).exit_code == 0
    Path("loans.toml").write_text(re.search(r"^```toml\n(.*?)^```", quick, re.DOTALL | re.MULTILINE)[1], "utf-8")
    for command in commands[1:]:
        ended = CliRunner().invoke(app, shlex.split(command)[1:])
        assert ended.exit_code == 0, (command, ended.output)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_is_complete_and_loads_nothing_from_elsewhere(site):
    """All pages, proofs, measurements and pictures are on it; no page asks another host for anything."""
    for source in [*DOCS.rglob("*.md"), *(ROOT / "src").rglob("*.md"), *(ROOT / "benchmarks/results").glob("*.md")]:
        place = source.relative_to(DOCS if source.is_relative_to(DOCS) else ROOT)
        page = site / (place.parent if place.name == "index.md" else place.with_suffix("")) / "index.html"
        assert page.exists(), place
    assert 'href="../src/tacit/mechanisms/laplace/"' in (site / "guarantees" / "index.html").read_text("utf-8")
    for page in site.rglob("*.html"):
        html = page.read_text("utf-8")
        assert re.findall(r'<(?:script|img|link|iframe|source)[^>]+(?:src|href)="(?:https?:)?//[^"]+"', html) == []
        for picture in re.findall(r'<img[^>]+src="([^"]+)"', html):
            base = site if page.name == "404.html" else page.parent
            assert (base / picture).exists(), (page, picture)
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")) == []


def test_formulas_of_proofs_are_written_as_formulas():
    """Greek letters, powers and indices become signs; code and paths stay."""
    shown = runpy.run_path(str(ROOT / "tools" / "site_pages.py"))["_as_formulas"]
    note = "# N\nfingerprint: tacit.noise:f 12\n\ne^(-alpha s) <= K_i, 1/epsilon, `alpha^2 <= K_i`, a_long_name\n"
    said = shown(note)
    assert "e<sup>-&alpha; s</sup> ≤ K<sub>i</sub>, 1/ε, `alpha^2 <= K_i`, a_long_name" in said
    assert "- `tacit.noise:f`" in said


def test_docstrings_are_shown_as_markdown():
    """Claims stand alone, parameters are a list, continued lines are joined."""
    as_markdown = runpy.run_path(str(ROOT / "tools" / "site_docstrings.py"))["as_markdown"]
    said = as_markdown(
        "Do.\n\nGuarantee: all.\nAssumes: none.\n\nParameters\n----------\na, b : one,\n    two\nc : it\n"
    )
    assert "\n**Guarantee.** all.\n" in said
    assert "- **`a`, `b`**: one, two\n- **`c`**: it" in said
