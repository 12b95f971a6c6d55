"""Fits on a Spark cluster whose nodes die: the model of memory for one charge, or one clear error."""

from pathlib import Path

from support.clusters import fits_while_nodes_die
from support.dying_fit import EPSILON


def test_a_fit_survives_a_worker_and_says_what_the_loss_of_all_executors_cost(tmp_path: Path) -> None:
    """A worker killed in the middle changes nothing beyond what is certified; a cluster that gives up is one error."""
    told = fits_while_nodes_die(tmp_path)
    assert told["executors"] == 1
    assert told["passes"] > told["after"]
    assert told["difference"] <= 1.01 * told["certified"] + 1e-12
    assert "the cluster failed" in told["error"]
    assert f"charged for it: epsilon={EPSILON:g}" in " ".join(told["notes"])
    assert told["context"] == "None"
    # One charge for each of the two fits, whatever was done twice.
    assert told["charges"] == 2
    assert told["spent"] == 2 * EPSILON
