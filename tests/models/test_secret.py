"""Predictors that answer on demand, kept in files: one conversation over restarts, and nothing but what was written."""

import json
import shutil
import stat
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tacit
from support.fitted_models import SCHEMA, table
from tacit import Ledger, Records
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt, ModelFileError
from tacit.kernels import RBF, FunctionKernel, InteractiveKernelPredictor, Linear
from tacit.models.secret import keep, reopen

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(200, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
Z = GENERATOR.normal(size=(12, 3))


def _predictor(folder: Path, **changes: Any) -> InteractiveKernelPredictor:
    given = {"kernel": RBF(1.0) + 0.5, "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "state": folder / "state.db"}
    return InteractiveKernelPredictor(**{**given, **changes})


def _kept(folder: Path, **changes: Any) -> InteractiveKernelPredictor:
    predictor = _predictor(folder, **changes).fit(X, Y)
    keep(predictor, folder / "secret")
    return predictor


def test_a_predictor_that_could_not_be_reopened_is_not_kept(tmp_path: Path) -> None:
    """What is kept is read first, as `reopen` will: a class that UTF-8 cannot spell is refused, and no file is left."""
    predictor = _predictor(tmp_path).fit(X, np.where(X[:, 0] > 0, "yes\ud800", "no"))
    with pytest.raises(ModelFileError, match="UTF-8 can spell"):
        keep(predictor, tmp_path / "secret")
    assert not (tmp_path / "secret").exists()


@pytest.mark.parametrize(
    "changes",
    [{}, {"landmarks": 20}, {"method": "pinp", "alpha": 0.1}, {"kernel": Linear(), "loss": "hinge"},
     {"loss": "squared", "target_range": (-1.0, 1.0), "landmarks": X[:7] / 2}],
)  # fmt: skip
def test_a_reopened_predictor_goes_on_where_the_other_stopped(changes: dict[str, Any], tmp_path: Path) -> None:
    """Answers given stay as they are, new ones are drawn once for both, and nothing more is charged."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(1, 1e-6))
    predictor = _predictor(tmp_path, ledger=ledger, **changes).fit(X, X[:, 0] if "target_range" in changes else Y)
    keep(predictor, tmp_path / "secret")
    first = predictor.answer(Z[:5])
    other = reopen(tmp_path / "secret", state=tmp_path / "state.db", head=predictor.head_)
    again = other.answer(Z)
    assert np.array_equal(again.values[:5], first.values)
    assert np.array_equal(again.error[:5], first.error)
    assert np.all(again.guaranteed)
    assert np.array_equal(predictor.answer(Z).values, again.values)
    assert predictor.head_ == other.head_
    assert np.array_equal(predictor.predict(Z), other.predict(Z))
    assert (other.points_left_, other.updates_left_) == (predictor.points_left_, predictor.updates_left_)
    assert other.release_.guarantee == predictor.release_.guarantee
    assert len(ledger.entries()) == 1


def test_records_and_sparse_rows_are_read_as_they_were_fitted(tmp_path: Path) -> None:
    """A predictor of records takes tables, one of sparse rows takes rows, and both answer as before."""
    points = table(9, seed=2)
    predictor = _predictor(tmp_path, kernel=RBF(1.0), data_norm=None).fit(Records(table(), SCHEMA))
    keep(predictor, tmp_path / "records")
    values = predictor.answer(points).values
    assert np.array_equal(reopen(tmp_path / "records", state=tmp_path / "state.db").answer(points).values, values)
    thin = csr_matrix(np.where(np.abs(X) > 1, X, 0))
    predictor = _predictor(tmp_path, kernel=Linear(), state=tmp_path / "thin.db").fit(thin, Y)
    keep(predictor, tmp_path / "thin")
    values = predictor.answer(Z).values
    assert np.array_equal(reopen(tmp_path / "thin", state=tmp_path / "thin.db").answer(Z).values, values)


def test_another_process_draws_the_same_path(tmp_path: Path) -> None:
    """A process that knows both files alone answers like this one, before and after."""
    predictor = _kept(tmp_path)
    code = (
        "import sys, json, numpy as np\nfrom tacit.models.secret import reopen\n"
        "points = np.array(json.loads(sys.argv[3]))\n"
        "print(json.dumps(reopen(sys.argv[1], state=sys.argv[2]).answer(points).values.tolist()))\n"
    )
    known = predictor.answer(Z[:3]).values
    arguments = [str(tmp_path / "secret"), str(tmp_path / "state.db"), json.dumps(Z.tolist())]
    found = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    values = json.loads(found.stdout)
    assert values[:3] == known.tolist()
    assert predictor.answer(Z).values.tolist() == values


def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    """Both files are as secret as the records."""
    _kept(tmp_path)
    for name in ("secret", "state.db"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_an_older_or_another_state_file_is_refused(tmp_path: Path) -> None:
    """With the head that was written down, a state file from before it, an empty one and another fit's are refused."""
    predictor = _kept(tmp_path)
    predictor.answer(Z[:2])
    shutil.copy(tmp_path / "state.db", tmp_path / "older.db")
    predictor.answer(Z[2:])
    head = predictor.head_
    assert head[0] == len(Z)
    reopen(tmp_path / "secret", state=tmp_path / "state.db", head=head)
    with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
        reopen(tmp_path / "secret", state=tmp_path / "older.db", head=head)
    with pytest.raises(LedgerCorrupt, match="missing"):
        reopen(tmp_path / "secret", state=tmp_path / "none.db", head=head)
    _predictor(tmp_path, state=tmp_path / "other.db").fit(X, Y)
    with pytest.raises(LedgerCorrupt, match="another fit"):
        reopen(tmp_path / "secret", state=tmp_path / "other.db")
    for wrong in ((1,), (-1, "00"), ("1", "00"), (1, "not hex"), 7):
        with pytest.raises(InvalidParameter, match="head must be"):
            reopen(tmp_path / "secret", state=tmp_path / "state.db", head=wrong)  # type: ignore[arg-type]


def test_only_what_can_go_on_is_kept(tmp_path: Path) -> None:
    """Refused are a predictor without a state file, a rehearsal, code, an unfitted one and a place that is taken."""
    with pytest.raises(InvalidParameter, match="with a state file"):
        keep(_predictor(tmp_path, state=None).fit(X, Y), tmp_path / "secret")
    with pytest.raises(InvalidParameter, match="rehearsal"):
        keep(_predictor(tmp_path, random_state=3).fit(X, Y), tmp_path / "secret")
    own = FunctionKernel(lambda x, z: float(x @ z), largest=1.0, vectors=True)
    with pytest.raises(ModelFileError, match="no code"):
        keep(
            _predictor(tmp_path, state=tmp_path / "b.db", kernel=own, landmarks=X[:9].copy()).fit(X, Y),
            tmp_path / "secret",
        )
    with pytest.raises(InvalidParameter, match="wanted a fitted"):
        keep(_predictor(tmp_path), tmp_path / "secret")
    assert not (tmp_path / "secret").exists()
    (tmp_path / "secret").write_bytes(b"")
    with pytest.raises(InvalidParameter, match="a file already"):
        keep(_predictor(tmp_path, state=tmp_path / "c.db").fit(X, Y), tmp_path / "secret")


def test_a_model_file_is_no_secret_and_the_reverse(tmp_path: Path) -> None:
    """`load` refuses a kept predictor, and `reopen` a model."""
    _kept(tmp_path)
    with pytest.raises(ModelFileError):
        tacit.load(tmp_path / "secret")
    tacit.save(tacit.PrivateLogisticRegression(1.0, data_norm=1.0).fit(X, Y == "yes"), tmp_path / "model")
    with pytest.raises(ModelFileError, match="no predictor"):
        reopen(tmp_path / "model", state=tmp_path / "state.db")


def _rewritten(path: Path, change: Any) -> None:
    """Write a kept predictor's file with another document, as a forger would: the checksum fits."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[16 : 16 + length])
    change(document)
    text = json.dumps(document).encode()
    whole = data[:12] + struct.pack("<I", len(text)) + text + data[16 + length : -32]
    path.write_bytes(whole + sha256(whole).digest())


def _law(name: str, part: str, value: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        document["fitted"]["law"]["value"][part][name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _law("sigma", "drawn", 1e-9),
        _law("sensitivity", "declared", 1e-9),
        _law("most", "declared", 5),
        lambda document: document["fitted"]["law"].update(kind="pinp"),
        lambda document: document["fitted"].update(law=[]),
        lambda document: document["fitted"].update(size=float("1e301")),
        lambda document: document["fitted"]["domain"].update(norm=2.0),
        lambda document: document["fitted"]["release_"].update(private=False),
        lambda document: document["fitted"].pop("mark"),
        lambda document: document["parameters"].update(state="/etc/passwd"),
        lambda document: document["parameters"].update(kernel={"kind": "function", "value": {}}),
        lambda document: document["arrays"][0].update(shape=[1, 600]),
    ],
)
def test_a_file_that_was_changed_is_refused(change: Any, tmp_path: Path) -> None:
    """Other noise than was calibrated, parts of several fits, places and code are refused in clear words."""
    _kept(tmp_path)
    _rewritten(tmp_path / "secret", change)
    with pytest.raises(ModelFileError, match=r"damaged|of another"):
        reopen(tmp_path / "secret", state=tmp_path / "state.db")
