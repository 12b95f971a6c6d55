"""Files of models that tests damage, and what must come of that."""

import pytest

import tacit
from support.fitted_models import NAMES, fitted_model
from support.model_bytes import taken_apart
from tacit.errors import ModelFileError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the bytes of a file of every model."""
    path = tmp_path_factory.mktemp("files") / "model.tacit"
    found = {}
    for name in NAMES:
        tacit.save(fitted_model(name)[0], path)
        found[name] = path.read_bytes()
    return found


@pytest.fixture
def refused(tmp_path):
    """Return a function that asserts that bytes are refused in one clear error, within bounds; it returns the words."""
    path = tmp_path / "hostile.tacit"

    def refuse(whole):
        path.write_bytes(whole)
        with pytest.raises(ModelFileError) as caught:
            tacit.load(path)
        assert caught.value.__cause__ is None
        words = str(caught.value)
        assert "\n" not in words
        assert len(words) < 1000
        return words

    return refuse


@pytest.fixture
def logistic(files):
    """Return the document and the numbers of a small model."""
    return taken_apart(files["two classes"])
