"""Public data sets as rows of norm at most 1, encoded by declared facts alone.

Adult comes with tacit. The others are read from the folder that the environment variable TACIT_DATA names (by
default ../shared/data beside the project); where one is missing, its reader raises `MissingData`.

Two encodings: `PublicEncoder` behind a schema, tacit's own way; and the one of published comparisons (every number
divided by its largest value, one 0/1 column per level, every row divided by its norm), with declared bounds in the
place of the largest value found.
"""

import gzip
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Category, Column, Flag, Number, PublicEncoder, Schema, adult_schema, load_adult
from tacit.data.levels import Levelled

Array = NDArray[np.float64]
Table = Mapping[str, NDArray[Any]]

FOLDER = Path(os.environ.get("TACIT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def _words(text: str) -> list[str]:
    return text.split()


ADULT_EDUCATION = _words(
    "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th "
    "Doctorate 5th-6th Preschool"
)

COVTYPE_SCHEMA = Schema(
    {
        # Metres; woods of the northern Front Range grow between its foot and the timber line.
        "elevation": Number(1700, 3900),
        "aspect": Number(0, 360),
        "slope": Number(0, 90),
        "horizontal_to_water": Number(0, 2000),
        "vertical_to_water": Number(-500, 1000),
        "to_road": Number(0, 8000),
        "shade_9": Number(0, 255),
        "shade_12": Number(0, 255),
        "shade_15": Number(0, 255),
        "to_fire": Number(0, 8000),
        "wilderness": Category([str(i) for i in range(4)]),
        "soil": Category([str(i) for i in range(40)]),
    }
)

# The services are the 70 that the published header of NSL-KDD lists.
KDD_SERVICES = _words(
    "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs exec finger ftp ftp_data "
    "gopher harvest hostnames http http_2784 http_443 http_8001 imap4 IRC iso_tsap klogin kshell ldap link login mtp "
    "name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i "
    "remote_job rje shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path "
    "vmnet whois X11 Z39_50"
)
KDD_RATES = _words("serror srv_serror rerror srv_rerror same_srv diff_srv srv_diff_host")
KDD_HOST_RATES = _words("same_srv diff_srv same_src_port srv_diff_host serror srv_serror rerror srv_rerror")
KDD_SCHEMA = Schema(
    {
        "duration": Number(0, 86_400, log=True),
        "protocol": Category(["icmp", "tcp", "udp"]),
        "service": Category(KDD_SERVICES),
        "flag": Category(_words("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH")),
        "src_bytes": Number(0, 2**32, log=True),
        "dst_bytes": Number(0, 2**32, log=True),
        "land": Flag(),
        "wrong_fragment": Number(0, 10, log=True),
        "urgent": Number(0, 10, log=True),
        "hot": Number(0, 100, log=True),
        "failed_logins": Number(0, 10, log=True),
        "logged_in": Flag(),
        "compromised": Number(0, 10_000, log=True),
        "root_shell": Flag(),
        "su_attempted": Number(0, 2),
        "root": Number(0, 10_000, log=True),
        "file_creations": Number(0, 1000, log=True),
        "shells": Number(0, 10, log=True),
        "access_files": Number(0, 10, log=True),
        "outbound_cmds": Number(0, 10, log=True),
        "host_login": Flag(),
        "guest_login": Flag(),
        "count": Number(0, 511, log=True),
        "srv_count": Number(0, 511, log=True),
        **{f"{name}_rate": Number(0, 1) for name in KDD_RATES},
        "host_count": Number(0, 255, log=True),
        "host_srv_count": Number(0, 255, log=True),
        **{f"host_{name}_rate": Number(0, 1) for name in KDD_HOST_RATES},
    }
)


NEEDED = {
    "kdd": "kddcup99/kddcup.data_10_percent.gz",
    "covtype": "covtype/covtype.data.xz",
    "mnist": "mnist/train-images-idx3-ubyte.gz",
}


class MissingData(Exception):
    """A data set is not where TACIT_DATA says."""


@dataclass(frozen=True)
class Labelled:
    """Encoded rows of norm at most 1, their labels, and all labels that can occur."""

    rows: Any
    labels: NDArray[Any]
    classes: list[Any]


def require(name: str) -> None:
    """Raise `MissingData` unless the named data set is there; Adult always is."""
    if name in NEEDED:
        _found(NEEDED[name])


def adult_published() -> Labelled:
    """Adult, 45,222 records without missing values, 104 columns as in published comparisons."""
    table, schema = load_adult("all", "drop"), adult_schema()
    columns = dict(schema.columns) | {
        "fnlwgt": Number(0, 1_500_000),
        "education": Category(ADULT_EDUCATION),
        "sex": Category(["Female", "Male"]),
        # Nobody who never worked states an occupation: dropping missing values drops this level.
        "workclass": Category([level for level in schema.columns["workclass"].classes if level != "Never-worked"]),
    }
    rows = published_rows({name: columns[name] for name in schema.inputs}, table)
    return Labelled(rows, schema.labels(table), list(schema.classes))


def adult_encoded() -> Labelled:
    """Adult, the same records through the bundled schema and `PublicEncoder`."""
    table, schema = load_adult("all", "drop"), adult_schema()
    return Labelled(PublicEncoder(schema).transform(table), schema.labels(table), list(schema.classes))


def covtype_published() -> Labelled:
    """CoverType, 581,012 records, 54 columns."""
    table, labels = _covtype_table()
    return Labelled(published_rows(COVTYPE_SCHEMA.columns, table), labels, list(range(1, 8)))


def covtype_encoded() -> Labelled:
    """CoverType through a schema."""
    table, labels = _covtype_table()
    return Labelled(PublicEncoder(COVTYPE_SCHEMA).transform(table), labels, list(range(1, 8)))


def kdd_published() -> Labelled:
    """KDD99, the 494,021 records of the 10 % file; the two classes are normal and attack."""
    table, labels = _kdd_table()
    return Labelled(published_rows(KDD_SCHEMA.columns, table), labels, ["attack", "normal"])


def kdd_encoded() -> Labelled:
    """KDD99 through a schema."""
    table, labels = _kdd_table()
    return Labelled(PublicEncoder(KDD_SCHEMA).transform(table), labels, ["attack", "normal"])


def mnist() -> Labelled:
    """MNIST, all 70,000 digits: pixels divided by 255, rows divided by their norm."""
    pixels = np.concatenate([_idx(f"mnist/{part}-images-idx3-ubyte.gz", 16) for part in ("train", "t10k")])
    labels = np.concatenate([_idx(f"mnist/{part}-labels-idx1-ubyte.gz", 8) for part in ("train", "t10k")])
    return Labelled(_unit(pixels.reshape(-1, 784) / 255.0), labels.astype(np.intp), list(range(10)))


def published_rows(columns: Mapping[str, Column], table: Table) -> Array:
    """Divide numbers by their declared largest value, levels to 0/1 columns, every row by its norm."""
    return _unit(np.hstack([_published_block(column, table[name]) for name, column in columns.items()]))


def _published_block(column: Column, values: NDArray[Any]) -> Array:
    if isinstance(column, Number):
        return column.clean(values)[0][:, None] / column.high
    assert isinstance(column, Levelled)
    places = column.clean(values)[0]
    if isinstance(column, Flag):
        return (places == 1).astype(np.float64)[:, None]
    return (places[:, None] == np.arange(len(column.classes))).astype(np.float64)


def _unit(rows: Array) -> Array:
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1e-100)[:, None]
    return rows


@lru_cache(maxsize=1)
def _covtype_table() -> tuple[Table, NDArray[Any]]:
    import pandas

    cells = pandas.read_csv(_found(NEEDED["covtype"]), header=None).to_numpy()
    numbers = dict(zip(COVTYPE_SCHEMA.inputs[:10], cells[:, :10].T.astype(np.float64), strict=True))
    levels = {"wilderness": cells[:, 10:14].argmax(axis=1), "soil": cells[:, 14:54].argmax(axis=1)}
    return numbers | levels, cells[:, 54]


@lru_cache(maxsize=1)
def _kdd_table() -> tuple[Table, NDArray[Any]]:
    import pandas

    frame = pandas.read_csv(_found(NEEDED["kdd"]), header=None)
    table = {name: frame[place].to_numpy() for place, name in enumerate(KDD_SCHEMA.inputs)}
    return table, np.where(frame[41] == "normal.", "normal", "attack")


def _idx(name: str, header: int) -> NDArray[np.uint8]:
    with gzip.open(_found(name)) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)


def _found(name: str) -> Path:
    path = FOLDER / name
    if not path.exists():
        raise MissingData(f"{name} was not found. Point TACIT_DATA to the folder that holds it.")
    return path
