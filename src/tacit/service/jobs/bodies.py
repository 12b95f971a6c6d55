"""What is sent to ask for a job, or for its price."""

from typing import Annotated, Any

from pydantic import Field

from tacit.service.asking import Amount, Body, Part

Name = Annotated[str, Field(max_length=64, pattern="^[A-Za-z0-9_]*$")]
_KERNEL = {"kind": "rbf", "value": {"gamma": 1.0}}


class FitBody(Body):
    """An estimator to fit, and on which part."""

    part: Part = "all"
    estimator: Name = Field(examples=["PrivateLogisticRegression"])
    parameters: dict[str, Any] = Field(examples=[{"epsilon": 0.5, "delta": 1e-6}])


class ReportBody(Body):
    """A model to score, what that may cost, and on which part."""

    part: Part = "test"
    model: Name
    epsilon: Amount = Field(examples=[0.2])
    delta: Amount = 0.0


class SessionBody(Body):
    """A predictor that answers on demand, and what it learns from."""

    part: Part = "all"
    parameters: dict[str, Any] = Field(examples=[{"epsilon": 1.0, "delta": 1e-6, "kernel": _KERNEL, "landmarks": 50}])


class ReportPriceBody(Body):
    """Scores to be priced, by what they may cost or how far off they may be: of whichever model, they cost the same."""

    part: Part = "test"
    model: Name | None = None
    epsilon: Amount | None = None
    error: Amount | None = None
    delta: Amount = 0.0


class SessionPriceBody(SessionBody):
    """A predictor to be priced: by its epsilon, or by how far off its answers may be."""

    error: Amount | None = None
