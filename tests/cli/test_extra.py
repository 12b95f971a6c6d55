"""What `pip install 'tacit[cli]'` brings is what the command line needs: a CSV file works with that alone."""

import sys

from cli.conftest import SCHEMA, write_table
from support.extras import absent, brought, narrow


def test_a_csv_file_needs_nothing_but_the_command_lines_own_extra(tmp_path):
    """With every module hidden that the extra does not bring, a draft, a model and predictions are made from a CSV."""
    hidden = absent("cli")
    assert {"ibis", "sqlglot", "pandas", "pyspark", "pytest"} <= hidden
    write_table(tmp_path / "patients.csv")
    (tmp_path / "s.toml").write_text(SCHEMA, "utf-8")
    process = narrow(
        hidden,
        tmp_path,
        "schema draft patients.csv",
        "ledger create sqlite:///l.db --name d --epsilon 1",
        "train patients.csv --schema s.toml --epsilon 0.7 --ledger sqlite:///l.db --output m.tacit --quiet",
        "inspect m.tacit",
        "predict m.tacit patients.csv --output p.csv",
    )
    ends = process.communicate()[0].splitlines()
    assert [end[0] for end in ends] == ["0"] * 5, ends
    assert len((tmp_path / "p.csv").read_text("utf-8").splitlines()) == 301


def test_what_is_missing_is_told_with_the_extra_that_brings_it(clinic, monkeypatch):
    """Without what reads files (the twin of the test above), one line says what to install."""
    assert "pyarrow" in brought("cli") - brought()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ended = clinic.run("schema", "check", "s.toml", "--data", "patients.csv")
    assert ended.code == 2
    assert "pyarrow: pip install 'tacit[cli]'" in ended.err
