"""`tacit audit` says in its exit code whether a claim holds (0), is refuted (1) or cannot be told (4)."""

import json

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
    assert float(result.output.split("epsilon is above ")[-1].split(" at 99.9 %")[0]) > 2.5
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.stats
def test_the_same_command_on_tacits_own_holds(tmp_path):
    """The twin: PrivateLogisticRegression raises the ridge, says so, and survives (false alarm 1e-8)."""
    options = ("--epsilon", "1", "--n-lambda", "0.01", "--plays", "400", "--confidence", "0.99999999")
    result = _run(tmp_path, "PrivateLogisticRegression", *options)
    assert result.exit_code == 0, result.output
    assert "raised from 0.01" in " ".join(result.output.replace("│", " ").split())
    assert (tmp_path / "picture.png").exists()


def test_a_picture_that_could_not_be_saved_is_refused_before_the_game(tmp_path):
    """A folder that does not exist is noticed at once."""
    result = CliRunner().invoke(app, ["audit", "Laplace", "--epsilon", "1", "--output", str(tmp_path / "no" / "a.png")])
    assert result.exit_code == 2
    assert "there is no folder" in result.output


@pytest.mark.parametrize("name", ["[bold]picture[/].png", "[/red].png", ":smile:.png"])
def test_a_path_is_printed_as_it_is(tmp_path, name):
    """Nothing in the name of a picture is markup or an emoji's name."""
    folder = tmp_path / name.removesuffix(".png").strip("/").replace("/", "")
    folder.mkdir()
    path = folder / "picture.png"
    result = CliRunner().invoke(app, ["audit", "Laplace", "--epsilon", "1", "--plays", "10", "--output", str(path)])
    assert result.exit_code == 4
    assert f"picture: {path}" in result.output.splitlines()


@pytest.mark.parametrize("name", ["folder.png", "picture.xyz"])
def test_a_place_where_no_picture_can_be_is_refused_before_the_game(tmp_path, name):
    """A folder in the picture's place and an unknown ending are wrong usage, not a verdict."""
    (tmp_path / "folder.png").mkdir()
    result = CliRunner().invoke(app, ["audit", "Laplace", "--epsilon", "1", "--output", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "holds" not in result.output


@pytest.mark.parametrize("failure", [OSError("the disk is full"), RuntimeError("a bug"), KeyboardInterrupt()], ids=str)
def test_what_nobody_expected_is_no_verdict(tmp_path, monkeypatch, failure):
    """A picture that can not be saved after the game, a bug or an interrupt leaves with 5, never with "refuted"."""

    def fails(*_):
        raise failure

    monkeypatch.setattr("tacit.cli.audit.picture", fails)
    result = _run(tmp_path, "Laplace", "--epsilon", "1", "--plays", "10")
    assert result.exit_code == 5
    assert "verdict" not in result.output
    assert "refuted" not in result.output


def test_the_picture_has_exactly_the_name_that_was_given(tmp_path):
    """`--output picture` writes `picture`, a PNG, and nothing else."""
    result = CliRunner().invoke(
        app, ["audit", "Laplace", "--epsilon", "1", "--plays", "10", "--output", str(tmp_path / "picture"), "--json"]
    )
    assert result.exit_code == json.loads(result.stdout)["exit_code"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["picture"]
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")


def test_a_usual_delta_is_said(tmp_path):
    """Where a delta is needed and none was given, the report says which one was audited."""
    result = _run(tmp_path, "Gaussian", "--epsilon", "1", "--plays", "10")
    assert "no delta was given: delta=1e-05 is" in result.output


def test_too_few_plays_exit_with_4(tmp_path):
    """The command can not tell from ten plays."""
    result = _run(tmp_path, "Laplace", "--epsilon", "1", "--plays", "10")
    assert result.exit_code == 4
    assert "cannot tell" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Nothing", "--epsilon", "1"), "Choose one of"),
        (("Laplace", "--epsilon", "1", "--n-lambda", "1"), "has no n-lambda"),
        (("Laplace", "--epsilon", "1", "--delta", "0.1"), "claims no delta"),
        (("Gaussian", "--epsilon", "1", "--delta", "0"), "needs a delta above 0"),
        (("InteractiveKernelPredictor", "--epsilon", "1", "--delta", "0"), "needs a delta above 0"),
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
