"""Files as sources: which are read, in what form, and what is refused with its place and never its content."""

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.sources import LINES, MARK, SCHEMA, said, written
from tacit.data import Category, Column, Moment, Number, Schema
from tacit.data.file_form import ENCODINGS, STANDARD, FileForm
from tacit.data.frames import read_table
from tacit.data.readers.csv_file import open_csv
from tacit.data.readers.file_listing import kind_of, list_files
from tacit.data.readers.parquet_file import open_parquet
from tacit.data.readers.source import Source
from tacit.errors import InvalidParameter

pytestmark = pytest.mark.usefixtures("quiet")


def opened(path: Path | str, form: FileForm = STANDARD) -> Source:
    """Open the file or folder at a path."""
    files = list_files(Path(path))
    return open_parquet(files) if kind_of(files[0]) == "parquet" else open_csv(files, form)


def cleaned(source: Source, columns: dict[str, Column], form: FileForm = STANDARD) -> dict[str, np.ndarray]:
    """Read a source once and clean its columns."""
    read: dict[str, list[np.ndarray]] = {name: [] for name in columns}
    for batch in source.read(list(columns)):
        table = read_table(batch, (), list(columns))
        for name, column in columns.items():
            read[name].append(table[name].cleaned(column, form)[0])
    return {name: np.concatenate([np.empty(0), *blocks]) for name, blocks in read.items()}


def ages(path: Path | str, form: FileForm = STANDARD) -> list[float]:
    """Return the cleaned ages of a file."""
    found: list[float] = cleaned(opened(path, form), dict(SCHEMA.columns), form)["age"].tolist()
    return found


def refused(path: Path, match: str, form: FileForm = STANDARD) -> str:
    """Open and read a file that must be refused, and return what was said."""
    with pytest.raises(InvalidParameter, match=match) as caught:
        ages(path, form)
    words = said(caught.value)
    assert MARK not in words
    return words


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "first line"),
        ("age,age\n1,2\n", "differ in case at most"),
        ("age,Age,ward\n1,2,a\n", "differ in case at most"),
        ("age,\n1,2\n", "must name every column"),
        (f"age,ward\n1,a\n2,b,{MARK}\n", "Line 3"),
        (f"age,ward\n1,a\n{MARK}\n", "Line 3"),
        (f'age,ward\n1,a\n2,"{MARK}\n', "quotes"),
        (f'age,ward\n1,a\n2,"{MARK}', "quotes"),
        (f'age,ward\n1,"a\n2,"{MARK}\n', "quotes"),
        (f'age,ward\n1,a\n2,"b"{MARK}\n', "quotes"),
        (f'age,ward\n1,a\n2,"b" \n{MARK}\n', "quotes"),
        (b"age,ward\n1,a\n2," + MARK.encode() + b"\xff\n", "not UTF-8"),
        (b"age,w\xffard\n1,a\n", "first line"),
        ("age,ward\n1," + "a" * 2**24 + f"\n{MARK},b\n", "cannot be read"),
    ],
    ids=lambda content: str(content)[:40],
)
def test_lines_that_are_no_table_are_refused_with_their_place(tmp_path: Path, content: Any, match: str) -> None:
    """Empty files, double names, odd lines, broken quotes, bytes and lines far too long: where it is, never what."""
    refused(written(tmp_path / "bad.csv", content), match)


@pytest.mark.parametrize("content", ["age,ward\n", "age,ward"])
def test_a_first_line_alone_has_no_records(tmp_path: Path, content: str) -> None:
    """No record is no fault of the file; that a table needs one is said by whoever counts them."""
    assert ages(written(tmp_path / "a.csv", content)) == []


WAYS = {
    "plain": LINES,
    "CRLF": LINES.replace("\n", "\r\n"),
    "BOM": "\ufeff" + LINES,
    "BOM and quotes": '\ufeff"age","ward"\n50,a\n60,b',
    "quotes": '"age","ward"\n"50","a"\n" 60 ","b"\n',
    "no last newline": LINES.rstrip("\n"),
    "blank lines": "age,ward\n50,a\n\n60,b\n\n",
    "letters that are quotes": 'age,ward\n50,5"\n60,b""c"\n',
    "lines within a field": 'age,ward\n50,"a\n51,""x"",\r\n"\n60,"\n"\n',
}


@pytest.mark.parametrize("content", WAYS.values(), ids=WAYS)
def test_ways_to_write_the_same_lines(tmp_path: Path, content: str) -> None:
    """A byte order mark, Windows' line ends, quotes and a missing last line end change nothing."""
    assert ages(written(tmp_path / "a.csv", content)) == [50, 60]
    assert ages(written(tmp_path / "b.csv.gz", gzip.compress(content.encode()))) == [50, 60]
    assert ages(written(tmp_path / "c.tsv", content.replace(",", "\t"))) == [50, 60]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_decoded_or_refused(tmp_path: Path, encoding: str) -> None:
    """Letters are what the declared encoding says; bytes that it does not know are refused."""
    form = FileForm(encoding=encoding)
    letter = next(each for each in "éж가日A" if each.encode(encoding, "ignore").decode(encoding, "ignore") == each)
    path = written(tmp_path / "a.csv", f'age,w{letter}\n50,"{letter}"\n60,x{letter}\n'.encode(encoding))
    source = opened(path, form)
    assert list(source.stored) == ["age", f"w{letter}"]
    column = Category([letter, f"x{letter}"])
    assert cleaned(source, {f"w{letter}": column}, form)[f"w{letter}"].tolist() == [0, 1]
    if encoding.startswith("utf-16"):
        marked = "\ufeff" + LINES if encoding != "utf-16" else LINES
        assert ages(written(tmp_path / "b.csv", marked.encode(encoding)), form) == [50, 60]
        refused(written(tmp_path / "c.csv", LINES.encode(encoding) + b"1"), "cannot be read", form)


def test_a_file_in_another_encoding_than_declared_is_refused(tmp_path: Path) -> None:
    """A byte that is no letter there is met when the records are opened, far down in the file too."""
    many = LINES + "70,c\n" * 300_000
    for encoding, byte in [("utf-8", b"\xe9"), ("cp1252", b"\x81"), ("ascii", b"\xe9"), ("shift_jis", b"\x81")]:
        path = written(tmp_path / "a.csv", many.encode() + b"1," + MARK.encode() + byte + b"\n")
        assert "shortly after line" in refused(path, "is not", FileForm(encoding=encoding))
        packed = written(tmp_path / "b.csv.gz", gzip.compress(path.read_bytes()))
        refused(packed, "is not", FileForm(encoding=encoding))


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """What is missing cannot be read, whoever compressed it; several in one file are one after the other."""
    packed = gzip.compress((LINES + "70,c\n" * 10_000).encode())
    refused(written(tmp_path / "a.csv.gz", packed[: len(packed) // 2]), "cannot be read")
    refused(written(tmp_path / "a.csv.gz", MARK), "first line")
    both = gzip.compress(LINES.encode()) + gzip.compress(b"70,c\n")
    assert ages(written(tmp_path / "a.csv.gz", both)) == [50, 60, 70]


def test_the_form_says_how_a_file_is_written(tmp_path: Path) -> None:
    """Semicolons, decimal commas, groups of digits, words for missing cells and dates, as a hospital's export has."""
    form = FileForm(";", ",", ".", "cp1252", ["k.A.", "-"], ["%d.%m.%Y"])
    lines = "kosten;tag;fähig\r\n1.234,5;31.12.1999;é\r\nk.A.;-;k.A.\r\n7;2000-01-01;-\r\n"
    path = written(tmp_path / "a.csv", lines.encode("cp1252"))
    columns: dict[str, Column] = {
        "kosten": Number(0, 10_000, missing=0), "tag": Moment("1999-01-01", "2001-01-01", missing="1999-01-01"),
        "fähig": Category(["é", "è"], other="è"),
    }  # fmt: skip
    read = cleaned(opened(path, form), columns, form)
    assert read["kosten"].tolist() == [1234.5, 0, 7]
    assert read["tag"].tolist() == [10956, 10592, 10957]
    assert read["fähig"].tolist() == [0, 1, 1]


def test_a_table_of_one_column_has_a_record_for_each_line(tmp_path: Path) -> None:
    """A blank line is a record whose cell is missing there, and nothing where a record has several fields."""
    path = written(tmp_path / "a.csv", "age\n50\n\n60\n")
    assert cleaned(opened(path), {"age": Number(0, 100, missing=7)})["age"].tolist() == [50, 7, 60]


def test_ten_thousand_columns(tmp_path: Path) -> None:
    """A table of 10,000 columns opens, and a few of them are read."""
    names = [f"c{place}" for place in range(10_000)]
    path = written(tmp_path / "wide.csv", "\n".join([",".join(names), ",".join(["1"] * 10_000)]) + "\n")
    read = cleaned(opened(path), {name: Number(0, 2) for name in names[::100]})
    assert read["c9900"].tolist() == [1.0]


def _plain(content: bytes, blocks: Iterator[int]) -> Any:
    """Return a file that gives its bytes in pieces of some lengths."""

    class Pieces:
        def __init__(self) -> None:
            self.left = content

        def read(self, _: int) -> bytes:
            size = next(blocks, 1)
            piece, self.left = self.left[:size], self.left[size:]
            return piece

    return Pieces()


@pytest.mark.parametrize("seed", range(300))
def test_quotes_are_judged_alike_wherever_a_file_is_cut(seed: int) -> None:
    """What Python's strict reader of lines refuses is refused, in pieces of any length, and nothing else."""
    import csv
    import io
    import random

    from tacit.data.readers.csv_file import _CheckedQuotes

    draw = random.Random(seed)
    content = "".join(draw.choices(draw.choice(['"",\na', '",\r\n', 'aaaa,"\n', '"a']), k=draw.randrange(30)))
    try:
        list(csv.reader(io.StringIO(content, newline=""), strict=True))
        sound = True
    except csv.Error:
        sound = False
    for most in (1, 2, 3, 7, 100):
        lengths = iter([draw.randint(1, most) for _ in range(100)])
        checked = _CheckedQuotes(_plain(content.encode(), lengths), STANDARD, ",")
        read = b""
        try:
            while piece := checked.read():
                read += piece
            assert sound
            assert read.decode().removesuffix("\n") == content.removesuffix("\n")
        except ValueError:
            assert not sound


def test_names_are_names(tmp_path: Path) -> None:
    """Brackets, stars, quotes and backslashes in a file's name are letters: no other file is read in its place."""
    written(tmp_path / "visits1.csv", "age,ward\n1,a\n")
    names = ["visits[1].csv", "visits*.csv", "vis'its .csv", '"visits".csv', "~é.csv", "a\\*b.csv", "[1]\\.csv"]
    for place, name in enumerate(names):
        assert ages(written(tmp_path / name, f"age,ward\n{place + 50},a\n")) == [place + 50]


def test_a_folder_is_its_files_each_once(tmp_path: Path) -> None:
    """Hidden files are left out; links and other kinds of files beside are refused, and so is an empty folder."""
    folder = tmp_path / "records"
    folder.mkdir()
    refused(folder, "no .parquet, .csv or .tsv files")
    written(folder / "a.csv", LINES)
    written(folder / ".hidden.csv", LINES)
    assert ages(folder) == [50, 60]
    os.link(folder / "a.csv", folder / "b.csv")
    refused(folder, "are one file")
    (folder / "b.csv").unlink()
    os.symlink(folder / "a.csv", folder / "b.csv")
    refused(folder, "are one file")
    (folder / "b.csv").unlink()
    for ending in (".gz", ".GZ"):
        packed = written(folder / f"a.csv{ending}", gzip.compress(LINES.encode()))
        refused(folder, "seem to be one file, once compressed")
        packed.unlink()
    written(folder / "b.csv", "age,ward\n70,c\n")
    assert ages(folder) == [50, 60, 70]
    written(folder / "b.csv", "ward,age\na,1\n")
    refused(folder, "same first line")
    written(folder / "b.tsv", LINES.replace(",", "\t"))
    refused(folder, "all .parquet, all .csv or all .tsv")


def test_parquet_files_of_one_table_are_alike(tmp_path: Path) -> None:
    """Files of other types or columns are no part of one table."""
    for name, table in {"a": {"age": [1.0]}, "b": {"age": [1]}}.items():
        pq.write_table(pa.table({**table, "ward": ["a"]}), tmp_path / f"{name}.parquet")
    refused(tmp_path, "same columns of the same types")


def test_parquet_that_cannot_be_read_is_refused_unquoted(tmp_path: Path) -> None:
    """No Parquet file, an empty or broken one, text that is no text, no columns, two of one name."""
    refused(written(tmp_path / "no.parquet", MARK), "Parquet")
    refused(written(tmp_path / "empty.parquet", ""), "Parquet")
    table = pa.table({"age": [1.0] * 1000, "ward": [MARK] * 1000})
    pq.write_table(table, tmp_path / "whole.parquet", compression="none")
    content = (tmp_path / "whole.parquet").read_bytes()
    refused(written(tmp_path / "half.parquet", content[: len(content) // 2]), "Parquet")
    broken = pa.array([MARK.encode() + b"\xff"], pa.binary()).view(pa.string())
    for ward in (broken, broken.dictionary_encode()):
        pq.write_table(pa.table({"age": [1.0], "ward": ward}), tmp_path / "broken.parquet")
        refused(tmp_path / "broken.parquet", "cannot be read")
    twice = pa.table([pa.array([1.0]), pa.array([MARK]), pa.array([2.0])], names=["age", "ward", "Age"])
    for odd, match in [(pa.table({}), "cannot be read"), (twice, "differ in case")]:
        pq.write_table(odd, tmp_path / "odd.parquet")
        refused(tmp_path / "odd.parquet", match)


@pytest.mark.parametrize("column", ["age", "ward"])
def test_a_page_that_cannot_be_read_is_met_when_a_file_is_opened(tmp_path: Path, column: str) -> None:
    """Whatever a Parquet file states of its columns, every page of a declared one is decoded before any budget."""
    path = tmp_path / "a.parquet"
    numbers = np.random.default_rng(0).normal(size=4000)
    table = pa.table({"age": numbers, "ward": np.where(numbers > 0, "a", "b"), "other": numbers})
    pq.write_table(table, path, row_group_size=2000, compression="snappy", use_dictionary=False)
    place = pq.ParquetFile(path).metadata.row_group(1).column(table.column_names.index(column)).data_page_offset
    content = path.read_bytes()
    refused(written(path, content[:place] + b"\xff" * 40 + content[place + 40 :]), "cannot be read")


def test_what_the_footers_say(tmp_path: Path) -> None:
    """Types, how many rows, a name that is no digest of contents; only the wanted columns are read."""
    for name in "ab":
        table = pa.table({"age": [1.0, 2.0], "w.x": ["a", "b"], "d": pa.array(["a", "b"]).dictionary_encode()})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    source = opened(tmp_path)
    assert source.rows == 4
    assert {name: stored.kind for name, stored in source.stored.items()} == {"age": "real", "w.x": "text", "d": "text"}
    assert [batch.schema.names for batch in source.read(["w.x"])] == [["w.x"]] * 2
    assert source.name is not None
    assert str(tmp_path) in source.name


@pytest.mark.parametrize("change", ["append", "replace", "remove", "touch"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, kind: str, change: str) -> None:
    """Written to, replaced, removed or only touched: what was read is not what was opened."""
    path = tmp_path / f"a.{kind}"
    table = pa.table({"age": [1.0], "ward": ["a"]})
    pq.write_table(table, path) if kind == "parquet" else written(path, LINES)
    source = opened(path)
    reading = source.read(["age"])
    next(reading)
    content = path.read_bytes()
    match change:
        case "append":
            written(path, content + MARK.encode())
        case "replace":
            os.replace(written(tmp_path / "other", content), path)
        case "remove":
            path.unlink()
        case "touch":
            os.utime(path, ns=(0, 0))
    with pytest.raises(InvalidParameter, match="not those that were opened") as caught:
        list(reading)
    assert MARK not in said(caught.value)
    if change in ("replace", "touch"):
        assert opened(path).name != source.name


def test_the_form_is_part_of_a_schema() -> None:
    """It is written and read back, and schemas of other forms are others; a level is no word for a missing cell."""
    form = FileForm(";", ",", ".", "latin1", [" k.A.", "-"], ["%d.%m.%Y"])
    assert form.encoding == "latin-1"
    schema = Schema(dict(SCHEMA.columns), form=form)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_toml(schema.to_toml()).form == form
    assert schema != SCHEMA
    assert hash(schema) != hash(SCHEMA)
    assert "[file]" not in SCHEMA.to_toml()
    with pytest.raises(InvalidParameter, match="'-', which the form"):
        Schema({"ward": Category(["a", "-"])}, form=form)
    for document in ("file = 3\n[columns.a]\nkind='flag'", "[file]\ncolour = 3\n[columns.a]\nkind='flag'"):
        with pytest.raises(InvalidParameter, match=r"table \[file\] may have"):
            Schema.from_toml(document)
    with pytest.raises(InvalidParameter, match="decimal must be"):
        Schema.from_toml("[file]\ndecimal = 3\n[columns.a]\nkind='flag'")


_LIMITED = """
import glob, resource, sys
from pathlib import Path
import pyarrow, pyarrow.parquet, pyarrow.csv
from tacit.data.readers.csv_file import open_csv
from tacit.data.readers.parquet_file import open_parquet

resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))


def size():
    lines = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
    return int(lines["VmSize"].split()[0]) / 1024


pyarrow.array([1.0])
before = size()
for _ in range(3):
    open_any = open_parquet if sys.argv[1].endswith("parquet") else open_csv
    source = open_any([Path(sys.argv[1])])
    assert sum(len(batch) for batch in source.read(list(source.stored))) == 500_000
print(size() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="memory is told as Linux shows it")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_large_file_is_read_where_a_process_may_map_two_gibibytes(tmp_path: Path, kind: str) -> None:
    """A group of rows is not read at once, and few threads of engines map memory of their own."""
    import pyarrow.csv as lines

    table = pa.table({f"x{place}": np.random.default_rng(place).normal(size=500_000) for place in range(20)})
    path = tmp_path / f"a.{kind}"
    pq.write_table(table, path) if kind == "parquet" else lines.write_csv(table, path)
    told = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    assert float(told.stdout) < 1300


def test_reading_lines_maps_little_where_a_process_may_map_little(tmp_path: Path) -> None:
    """Arrow's own pool maps a gigabyte at once, which left a process of two none for its fit."""
    (tmp_path / "t.csv").write_text("a,t\n" + "1.5,some text\n" * 300_000, "utf-8")
    lines = [
        "import resource, sys",
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))",
        "from tacit.data import Category, Number, Records, Schema",
        "Records(sys.argv[1], Schema({'a': Number(0, 9), 't': Category(['some text'])}))",
        "status = open('/proc/self/status').read()",
        "print(int(status.split('VmPeak:')[1].split()[0]))",
    ]
    command = [sys.executable, "-c", "\n".join(lines), str(tmp_path / "t.csv")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(found.stdout) < 1.4 * 2**20
