"""The package's front: public names, loaded when they are used."""

import importlib
import subprocess
import sys

import pytest

import tacit


def test_importing_the_package_loads_no_library():
    """`import tacit` loads neither numpy nor anything heavier; a name that is used does (the twin)."""
    program = (
        "import sys, tacit; before = set(sys.modules); tacit.Budget, tacit.statistics;"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'sqlalchemy', 'dp_accounting', 'ibis', 'matplotlib'};"
        "print(*heavy & before, '|', *{'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    loaded, _, later = done.stdout.partition("|")
    assert loaded.split() == []
    assert later.split() == ["numpy"]


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_is_there_and_listed(name):
    """Public names load from their homes, are the same objects there, and are listed by dir()."""
    found = getattr(tacit, name)
    assert name in dir(tacit)
    home = getattr(found, "__module__", None) or found.__name__
    assert found is importlib.import_module(home) or found is getattr(importlib.import_module(home), name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    """hasattr and typos work as with any module."""
    assert not hasattr(tacit, "PrivateLogistikRegression")
