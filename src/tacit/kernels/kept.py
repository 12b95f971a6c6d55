"""What of a fitted predictor must be kept beside its state file for another process to go on: the secret model.

The memory of what was answered stays in the state file. Kept here are the model, the numbers that its noise was
calibrated to, and what clips and reads points. All of it is as secret as the records.
"""

from typing import Any, final

from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.declared import BUDGET, FITTED, LABELS
from tacit.estimators.saving.fields import TEXT, TRUTH, Either, Field, Numbers, Optional, Saved, Scalar, Struct, whole
from tacit.kernels.fit.problem import KernelModel, LinearModel
from tacit.kernels.interactive.pinp import Pinp
from tacit.kernels.interactive.session import AnswerSession
from tacit.kernels.interactive.state_file import FileMemory
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.landmarks import Landmarks
from tacit.kernels.saved import DOMAIN, KERNEL, LANDMARKS, Points
from tacit.mechanisms.process import GaussianProcess
from tacit.releases import source_that_goes_on

_NUMBER = Scalar(0.0, 1e300)
_INNER = Struct(Domain, {"kernel": KERNEL, "norm": Scalar(1e-150, 1e150), "width": whole(1, 10**9, axis="coordinates")})


def _drawn(law: GaussianProcess | Pinp) -> dict[str, float]:
    """Return the numbers that all answers of a path are drawn with."""
    if isinstance(law, Pinp):
        return {"each": law.each, "threshold": law.threshold, "updates": float(law.updates), "scale": law.scale}
    return {"sigma": law.sigma, "grid": law.grid, "jitter": law.jitter, "drawn": law.multipliers.drawn}


@final
class _Law(Field):
    """How noise was calibrated: its declarations, and the numbers that follow from them."""

    def __init__(self, build: type[Any], numbers: dict[str, Field]) -> None:
        self._fields = Struct(build, {"budget": BUDGET, **numbers})

    def write(self, value: Any, writing: Any) -> object:
        """Write what was declared, and the numbers that answers are drawn with."""
        return {"declared": self._fields.write(value, writing), "drawn": _drawn(value)}

    def read(self, plain: Any, reading: Any) -> Any:
        """Calibrate anew, and refuse other numbers than those that answers were drawn with."""
        if not isinstance(plain, dict) or plain.keys() != {"declared", "drawn"}:
            raise ModelFileError("should be how noise was calibrated")
        law = self._fields.read(plain["declared"], reading)
        if plain["drawn"] != _drawn(law):
            # One path has one scale.
            raise ModelFileError("should have the noise that this tacit calibrates; use the tacit that fitted it")
        return law


_LAW = Either(
    {
        "gaussian-process": _Law(
            GaussianProcess,
            {
                **dict.fromkeys(("sensitivity", "square", "kernel_error", "value_error", "reach"), _NUMBER),
                "most": whole(1, 10**6),
            },
        ),
        "pinp": _Law(
            Pinp,
            {
                **dict.fromkeys(("sensitivity", "square", "value_error", "size"), _NUMBER),
                "queries": whole(1, 10**12),
                "failure": _NUMBER,
                "published": TRUTH,
            },
        ),
    },
    lambda law: "pinp" if isinstance(law, Pinp) else "gaussian-process",
)
_MODEL = Either(
    {
        "records": Struct(KernelModel, {"domain": DOMAIN, "records": Points("records"), "weights": Numbers("records")}),
        "coordinates": Struct(LinearModel, {"domain": _INNER, "coefficient": Numbers("coordinates")}),
    },
    lambda model: "records" if type(model) is KernelModel else "coordinates",
)
_MAPPED = Struct(Landmarks, {"domain": DOMAIN, "points": Points("points"), "map": Numbers("points", "coordinates")})

SAVED = Saved(
    {
        **FITTED,
        "classes_": Optional(LABELS),
        "domain": DOMAIN,
        "mapped": Optional(_MAPPED),
        "middle": Scalar(),
        "scale": Scalar(),
        "law": _LAW,
        "model": _MODEL,
        "mark": TEXT,
        "size": _NUMBER,
    },
    {"kernel": KERNEL, "landmarks": LANDMARKS},
    frozenset({"ledger", "state", "random_state"}),
)
"""The fields of a kept predictor: attributes of its own, and the parts of its session."""


def parts_of(predictor: Any) -> dict[str, Any]:
    """Return what is kept of a fitted predictor; refuse one whose answers no other process could go on from."""
    session: AnswerSession = predictor._session
    if not isinstance(session.memory, FileMemory) or session.secret is None:
        raise InvalidParameter(
            "only a predictor with a state file can be kept, since its answers must be: "
            "fit InteractiveKernelPredictor(..., state=path)."
        )
    if not predictor.release_.private:
        raise InvalidParameter("a rehearsal, which has a seed, is not kept: fit without random_state.")
    own = {name: getattr(predictor, name, None) for name in (*FITTED, "classes_")}
    middle, scale = predictor._targets
    return {
        **own,
        "domain": predictor._domain,
        "mapped": predictor._mapped,
        "middle": middle,
        "scale": scale,
        "law": session.law,
        "model": session.secret[0],
        "mark": session.mark,
        "size": session.size,
    }


def assemble(predictor: Any, parts: dict[str, Any], memory: FileMemory) -> None:
    """Give a predictor back what was kept of it; the state file must be the one it answered from.

    Guarantee: as the predictor's own: it goes on in turns of the memory that all copies share.
    Assumes: the parts are those of the fit that the state file's mark names; the file is not older than `memory.seen`.
    Reference: predictor.md, "Kept".
    """
    model, law, domain, mapped = parts["model"], parts["law"], parts["domain"], parts["mapped"]
    inner = domain if mapped is None else mapped.inner_domain
    fitting = type(model) is (KernelModel if mapped is None else LinearModel) and model.domain == inner
    if not fitting or (mapped is not None and mapped.domain != domain) or law.square != inner.square:
        raise ModelFileError("its model, its points and its noise are not of one fit")
    if not parts["release_"].private:
        raise ModelFileError("its release is a rehearsal")
    for name in (*FITTED, "classes_"):
        if parts[name] is not None or name == "classes_":
            setattr(predictor, name, parts[name])
    predictor.release_ = predictor.release_.map(lambda _: "answers on demand")
    predictor._domain, predictor._mapped, predictor._targets = domain, mapped, (parts["middle"], parts["scale"])
    predictor._session = AnswerSession(inner, law, (model, source_that_goes_on()), parts["mark"], parts["size"], memory)
    predictor.state = memory.path
