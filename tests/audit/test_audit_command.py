"""`tacit audit` says in its exit code whether a claim holds (0), is refuted (1), or cannot be told (2)."""

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app


def _run(tmp_path, *arguments):
    return CliRunner().invoke(app, ["audit", *arguments, "--output", str(tmp_path / "picture.png")])


@pytest.mark.stats
def test_the_2008_algorithm_is_refuted_with_a_picture(tmp_path):
    """At n lambda = 0.01 the lower bound printed is above 2.5 at 99.9 % (power above 1 - 1e-6)."""
    result = _run(tmp_path, "exhibit-nips2008", "--epsilon", "1", "--n-lambda", "0.01")
    assert result.exit_code == 1, result.output
    assert float(result.output.split("epsilon is above ")[1].split(" at 99.9 %")[0]) > 2.5
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.stats
def test_the_same_command_on_tacits_own_holds(tmp_path):
    """PrivateLogisticRegression raises the ridge, says so, and survives (false alarm 1e-8)."""
    options = ("--epsilon", "1", "--n-lambda", "0.01", "--plays", "400", "--confidence", "0.99999999")
    result = _run(tmp_path, "PrivateLogisticRegression", *options)
    assert result.exit_code == 0, result.output
    assert "raised from 0.01" in " ".join(result.output.replace("│", " ").split())
    assert (tmp_path / "picture.png").exists()


def test_a_picture_that_could_not_be_saved_is_refused_before_the_game(tmp_path):
    """A folder that does not exist is noticed at once."""
    result = CliRunner().invoke(app, ["audit", "Laplace", "--epsilon", "1", "--output", str(tmp_path / "no" / "a.png")])
    assert result.exit_code == 2
    assert "does not exist" in result.output


def test_too_few_plays_exit_with_2(tmp_path):
    """The command can not tell from ten plays."""
    result = _run(tmp_path, "Laplace", "--epsilon", "1", "--plays", "10")
    assert result.exit_code == 2
    assert "cannot tell" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Nothing", "--epsilon", "1"), "Choose one of"),
        (("Laplace", "--epsilon", "1", "--n-lambda", "1"), "has no n-lambda"),
        (("Laplace", "--epsilon", "1", "--delta", "0.1"), "claims no delta"),
        (("Laplace", "--epsilon", "0"), "above 0"),
        (("Laplace", "--epsilon", "1", "--plays", "1"), "plays must be"),
        (("Laplace", "--epsilon", "1", "--confidence", "1"), "confidence"),
        (("PrivateLogisticRegression", "--epsilon", "1", "--perturbation", "sideways"), "perturbation must be"),
        (("PrivateLogisticRegression", "--epsilon", "1", "--n-lambda", "-1"), "n-lambda"),
        (("PrivateLogisticRegression", "--epsilon", "1", "--perturbation", "gradient"), "delta > 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_nonsense_is_one_line_and_exit_code_2(tmp_path, arguments, message):
    """What can not be audited is refused in words, without a traceback or a verdict."""
    result = _run(tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
