"""What a hostile reviewer found: each test failed before it was mended."""

from pathlib import Path
from typing import Any

import pytest

from support.jobs import begun, ended, made
from support.service import Running, running
from tacit.service.jobs.table import Jobs

BAYES = {"estimator": "SQNaiveBayes", "parameters": {"epsilon": 0.1}, "part": "train"}


def _spent(served: Running) -> float:
    return float(served.get("/v1/datasets/clinic").json()["spent"]["epsilon"])


def test_a_token_for_some_data_sets_gives_none_for_others(served: Running) -> None:
    """A custodian of one data set can neither make, see nor end a token that is for more, nor register another's."""
    public, served.tokens["eve"] = served.service.tokens.make("eve", "custodian", datasets=["clinic"])
    others = [each["id"] for each in served.service.tokens.all() if each["id"] != public]
    wider: list[Any] = [["clinic", "other"], ["other"]]
    for datasets in wider:
        body = {"name": "eve", "scope": "custodian", "datasets": datasets}
        assert served.post("/v1/tokens", body, "eve").status_code == 404
    made_now = served.post("/v1/tokens", {"name": "eve", "scope": "custodian"}, "eve")
    served.tokens["eva"] = made_now.json()["token"]
    assert served.get("/v1/me", "eva").json()["datasets"] == ["clinic"]
    assert {each["id"] for each in served.get("/v1/tokens", "eve").json()["tokens"]} == {public, made_now.json()["id"]}
    assert {served.delete(f"/v1/tokens/{other}", "eve").status_code for other in others} == {404}
    assert served.delete(f"/v1/tokens/{made_now.json()['id']}", "eve").status_code == 200
    assert served.get("/v1/me", "alice").status_code == 200


def test_the_same_fit_is_had_again_for_nothing(served: Running) -> None:
    """What the account remembers is told again, to anybody, as a model of its own that cost nothing."""
    first, again = made(served, "fits", BAYES), made(served, "fits", BAYES, "bob")
    assert (first["cost"]["epsilon"], again["cost"]["epsilon"]) == (0.1, 0.0)
    assert first["entry"] is not None
    assert again["entry"] is None
    assert _spent(served) == 0.1


def test_a_fit_whose_answers_were_remembered_before_a_crash_is_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that dies between the account's memory and the job's end is paid once, and says so."""
    keep, attempts = Jobs.keep, []

    def keep_late(self: Jobs, *given: Any) -> bool:
        attempts.append(given)
        if len(attempts) == 1:
            raise OSError
        return keep(self, *given)

    monkeypatch.setattr(Jobs, "keep", keep_late)
    with running(tmp_path, lease=0.2) as served:
        job = ended(served, begun(served, "fits", BAYES))
        assert (job["state"], job["charged"], job["result"]["cost"]["epsilon"]) == ("done", True, 0.1)
        assert len(attempts) == 2
        assert _spent(served) == 0.1
