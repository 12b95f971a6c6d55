"""Whatever a file holds, reading it ends soon, in bounded memory, with a model or with one clear error."""

import copy
import json
import os
import time
import tracemalloc

import numpy as np
import pytest

import tacit
from support.fitted_models import fitted_model
from support.model_bytes import seal, taken_apart
from support.statistical import sample_size
from tacit.errors import ModelFileError, TacitError
from tacit.models.container import LONGEST_DOCUMENT

_MUTATIONS = sample_size(1000)
_MEMORY = 100 * 2**20
_SECONDS = 20
NASTY = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 2**63, 10**15, 10**300, -0.0, 0.5, 1e-320, 1e308, "", "x", "inf", "1/0",
    "1e999999999", "9" * 5000, "../../etc/passwd", "/dev/zero", "\ud800", "\x00", "a" * 100_000, [], {}, [[]], [None],
    {"kind": "rbf"}, {"tuple": [1]}, {"pairs": [[[], 1]]}, {"pairs": [[{}, {}]]}, {"float": "inf"}, {"float": "nan"},
    {"fraction": "1/0"}, {"kind": [], "value": 1}, {"__class__": "os.system"}, ["os", "system"], [0] * 1000,
]  # fmt: skip


def test_every_truncation_and_every_extension_is_refused(files, refused):
    """No shorter file is read, nor a longer one."""
    whole = files["two classes"]
    for end in range(0, len(whole), 1 if len(whole) < 200 else 7):
        refused(whole[:end])
    refused(whole + b"\x00")
    refused(whole + whole)


def test_every_flipped_bit_is_refused(files, refused):
    """The checksum covers all that stands before it."""
    whole = files["two classes"]
    for place in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        refused(bytes(flipped))


def test_other_files_are_no_models(refused):
    """A pickle, an archive, a text, nothing: each is told apart from a model by how it begins."""
    import pickle

    for other in (b"", b"\x89", pickle.dumps({"a": 1}), b"PK\x03\x04" + bytes(100), b"{}", bytes(10_000)):
        assert "no model file of tacit's" in refused(other)


def test_another_version_is_named(logistic, refused):
    """A newer file says which format it has."""
    document, numbers = logistic
    for version in (0, 2, 2**32 - 1):
        assert f"format {version}" in refused(seal(document, numbers, version=version))


def test_huge_counts_allocate_nothing(logistic, refused):
    """Lengths that the file cannot have are refused before memory is asked for."""
    document, numbers = logistic
    refused(seal(document, numbers, length=2**32 - 1))
    tracemalloc.start()
    for shape in ([2**40, 2**40], [2**47], [10**300], [-1], [-4, -1], [0, 2**40], [1, 4, 1], [], [True, 4], [1.0, 4]):
        document["arrays"][0]["shape"] = shape
        refused(seal(document, numbers))
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_documents_that_grow_in_memory_are_refused(refused):
    """Deep nesting, a million empty lists, long numbers, and a document as large as it may be: none takes much."""
    tracemalloc.start()
    for text in (
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" + b"[]," * 1_300_000 + b"[]]",
        b"[" + b"1," * 2_000_000 + b"1]",
        b'{"tacit":' + b"9" * 3_000_000 + b"}",
        b'{"tacit":"' + b"\\ud83d\\ude00" + b"a" * (LONGEST_DOCUMENT - 100) + b'"}',
        b'{"arrays":[' + b'{"type":"bool","shape":[0]},' * 60_000 + b'{"type":"bool","shape":[0]}]}',
        b" " * LONGEST_DOCUMENT,
    ):
        before = time.perf_counter()
        refused(seal(text))
        assert time.perf_counter() - before < _SECONDS
    assert tracemalloc.get_traced_memory()[1] < _MEMORY
    tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        b'{"kind": "a", "kind": "b"}', b'{"kind": NaN}', b'{"kind": Infinity}', b'{"kind": 1e999}', b"\xff\xfe",
        '{"kind": "ü"}'.encode(), b"", b"null", b"[]", b'"x"', b'{"arrays": []}', b'{"kind": 1} x', b"{'kind': 1}",
    ],
)  # fmt: skip
def test_documents_that_tacit_does_not_write_are_refused(text, refused):
    """A key twice, NaN, infinity, other encodings, other values: JSON's looser readings are none of ours."""
    assert "damaged" in refused(seal(text))


def test_numbers_that_are_none_are_refused(logistic, refused):
    """NaN and infinity among the coefficients."""
    document, numbers = logistic
    for nasty in (np.nan, np.inf, -np.inf):
        changed = np.frombuffer(numbers, "<f8").copy()
        changed[2] = nasty
        assert "not finite" in refused(seal(document, changed.tobytes()))


def test_declarations_that_multiply_are_refused_in_time(files, refused):
    """Very many columns, two levels lists a pair of which multiplies, and many pairs: no hang, and no memory."""
    document, numbers = taken_apart(files["records"])
    encoder = document["fitted"]["encoder_"]
    wide = [[f"c{place}", {"kind": "flag"}] for place in range(5_000)]
    levels = {"kind": "category", "levels": {"tuple": [str(place) for place in range(20_000)]}}
    two = [["a", levels], ["b", levels]]
    for columns, pairs in ((wide, None), (two, [["a", "b"]]), (wide, [["c1", "c2"]] * 5_000), (two, 1)):
        encoder["schema"] = {"target": None, "columns": columns}
        encoder["interactions"] = pairs
        tracemalloc.start()
        before = time.perf_counter()
        refused(seal(document, numbers))
        assert time.perf_counter() - before < _SECONDS
        assert tracemalloc.get_traced_memory()[1] < _MEMORY
        tracemalloc.stop()


def test_what_is_no_file_is_refused_at_once(tmp_path):
    """A folder, a pipe that nobody writes to, a device without an end, a name that leads nowhere."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", tmp_path / "none", "a\x00b"):
        with pytest.raises((ModelFileError, ValueError)):
            tacit.load(path)


def _mutated(whole, generator, others):
    """Return a file with a few things changed, and mostly a checksum that agrees with them."""
    way = generator.integers(6)
    if way == 0:  # bytes anywhere, the checksum as it was
        changed = bytearray(whole)
        for place in generator.integers(len(changed), size=generator.integers(1, 8)):
            changed[place] = generator.integers(256)
        return bytes(changed)
    document, numbers = taken_apart(whole)
    if way == 1:  # bytes of the document
        text = bytearray(json.dumps(document).encode())
        for place in generator.integers(len(text), size=generator.integers(1, 8)):
            text[place] = (
                generator.integers(256) if generator.random() < 0.3 else b'{}[],:"0123456789.e-'[generator.integers(20)]
            )
        return seal(bytes(text), numbers)
    if way == 2 and numbers:  # bytes of the numbers
        changed = bytearray(numbers)
        for place in generator.integers(len(changed), size=generator.integers(1, 8)):
            changed[place] = generator.integers(256)
        return seal(document, bytes(changed))
    if way == 3:  # parts of another model
        other, _ = taken_apart(others[generator.integers(len(others))])
        key = list(document)[generator.integers(len(document))]
        document[key] = other.get(key)
        return seal(document, numbers)
    for _ in range(generator.integers(1, 4)):  # values anywhere
        _change_a_value(document, generator)
    if generator.random() < 0.2:
        return seal(document, numbers[: generator.integers(len(numbers) + 1)])
    return seal(document, numbers)


def _nasty(generator):
    return copy.deepcopy(NASTY[generator.integers(len(NASTY))])


def _change_a_value(document, generator):
    """Put something nasty, something of the same kind or nothing where a value is."""
    holder, place = document, None
    for _ in range(generator.integers(1, 12)):
        places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not places:
            break
        place = places[generator.integers(len(places))]
        if not isinstance(holder[place], dict | list):
            break
        if generator.random() < 0.1:
            break
        holder, place = holder[place], None
    if place is None:
        return
    value = holder[place]
    if generator.random() < 0.1:
        del holder[place]
    elif isinstance(value, int | float) and not isinstance(value, bool) and generator.random() < 0.5:
        holder[place] = [value + 1, value - 1, -value, value * 10**6, value + 0.5][generator.integers(5)]
    elif isinstance(value, dict) and generator.random() < 0.2:
        value[["kind", "value", "low", "x"][generator.integers(4)]] = _nasty(generator)
    else:
        holder[place] = _nasty(generator)


@pytest.mark.stats
def test_mutated_files_are_models_or_refused(files, tmp_path):
    """A thousand mutated files (ten thousand with `make stats`): no crash, no hang, no memory, one kind of error.

    What is loaded all the same is a model: it predicts as many values as there are rows, or refuses the rows.
    """
    generator = np.random.default_rng(16)
    path, names = tmp_path / "mutated.tacit", list(files)
    rows = {name: fitted_model(name)[1] for name in names}
    loaded = 0
    tracemalloc.start()
    for number in range(_MUTATIONS):
        name = names[number % len(names)]
        whole = _mutated(files[name], generator, list(files.values()))
        path.write_bytes(whole)
        tracemalloc.reset_peak()
        before, held = time.perf_counter(), tracemalloc.get_traced_memory()[0]
        try:
            model = tacit.load(path)
        except ModelFileError:
            model = None
        assert tracemalloc.get_traced_memory()[1] - held < _MEMORY + len(whole)
        assert time.perf_counter() - before < _SECONDS
        if model is not None:
            loaded += 1
            try:
                way = model.predict if hasattr(model, "predict") else model.transform
                assert len(way(rows[name])) in (50, 300)
                if hasattr(model, "rules"):
                    assert model.rules()
            except (TacitError, ValueError):
                pass
            except TypeError as error:
                # A model that lost its schema refuses a table of words, with the kind that scikit-learn wants.
                if "X must be a table of finite numbers" not in str(error):
                    raise
    tracemalloc.stop()
    assert loaded > _MUTATIONS / 50
