"""Declared columns as TOML: written by hand, kept in version control, read back exactly.

target = "income"

[file]
decimal = ","
missing = ["NA", "-"]

[columns.age]
kind = "number"
low = 17
high = 90
"""

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence

from tacit.checks import shown
from tacit.data.columns import Column, Ignored, Key, Moment, Number
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.levels import Category, Flag, Ordinal
from tacit.errors import InvalidParameter

KINDS: Mapping[str, type[Column]] = {
    "number": Number,
    "category": Category,
    "ordinal": Ordinal,
    "flag": Flag,
    "moment": Moment,
    "key": Key,
    "ignored": Ignored,
}
"""All the columns there are: what a stranger's subclass makes of a cell is not to be trusted."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LARGEST_PLAIN_INTEGER = 2.0**53


def parse(document: str) -> tuple[dict[str, Column], str | None, str | None, FileForm]:
    """Read the declared columns, in their order, the names of target and weight, and how the file is written."""
    try:
        declared = tomllib.loads(document)
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"a schema must be valid TOML: {error}.") from None
    except (RecursionError, ValueError):
        raise InvalidParameter(
            "a schema must be valid TOML, got tables or lists nested too deeply, or a number far too long."
        ) from None
    unknown = sorted(declared.keys() - {"target", "weight", "file", "columns"})
    columns, target, weight = (declared.get(name) for name in ("columns", "target", "weight"))
    if (
        unknown
        or not isinstance(columns, dict)
        or not isinstance(target, str | None)
        or not isinstance(weight, str | None)
    ):
        raise InvalidParameter(
            "a schema in TOML holds one table [columns.NAME] per column and at most target = NAME, weight = NAME and a "
            f"table [file] besides, got the keys {sorted(declared)!r}."
        )
    _refuse_without_kind([name for name, entry in columns.items() if isinstance(entry, dict) and "kind" not in entry])
    return (
        {name: declared_column(name, entry) for name, entry in columns.items()},
        target,
        weight,
        _form(declared.get("file", {})),
    )


def _form(entry: object) -> FileForm:
    """Build the form of the file from its table."""
    names = [field.name for field in dataclasses.fields(FileForm)]
    if not isinstance(entry, dict) or not entry.keys() <= set(names):
        raise InvalidParameter(f"the table [file] may have {_listed(names)}, got {shown(entry)}.")
    return FileForm(**entry)


def render(
    columns: Mapping[str, Column], target: str | None, weight: str | None = None, form: FileForm = STANDARD
) -> str:
    """Write declared columns; `parse` reads them back exactly."""
    named = {"target": target, "weight": weight}
    head = [f"{key} = {_value(name)}\n" for key, name in named.items() if name is not None]
    if entry := form.entry():
        head.append("\n".join(["[file]", *(f"{key} = {_value(value)}" for key, value in entry.items())]) + "\n")
    return "\n".join(head + [_table(name, column) for name, column in columns.items()])


def declared_column(name: str, entry: object) -> Column:
    """Build one column from its table, which is refused if it declares none."""
    if isinstance(entry, dict) and "kind" not in entry:
        _refuse_without_kind([name])
    if not isinstance(entry, dict) or entry["kind"] not in list(KINDS):
        raise InvalidParameter(f"column {name!r}: its table needs a kind among {list(KINDS)!r}, got {shown(entry)}.")
    kind = KINDS[entry["kind"]]
    given = {key: value for key, value in entry.items() if key != "kind"}
    fields = {field.name: field.default is dataclasses.MISSING for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    needed = [field for field, required in fields.items() if required]
    if not set(needed) <= given.keys() <= fields.keys():
        raise InvalidParameter(
            f"column {name!r}: kind {entry['kind']!r} needs {_listed(needed)} and may have {_listed(fields)}; its "
            f"section has {_listed(sorted(given))}."
            + (' The line target = "..." stands above the first [columns...].' if "target" in given else "")
        )
    try:
        return kind(**given)
    except InvalidParameter as error:
        raise InvalidParameter(f"column {name!r}: {error}") from None


def _refuse_without_kind(names: Sequence[str]) -> None:
    """Refuse columns whose sections are as a draft has them, all at once."""
    if names:
        others = f", nor have {len(names) - 1} more columns" if len(names) > 1 else ""
        raise InvalidParameter(
            f"column {names[0]!r} has no kind yet{others}. Below [columns.{key_of(names[0])}] write kind = with one of "
            f'{", ".join(KINDS)} in quotes, and what that kind needs; kind = "ignored" for what is not used.'
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


def entry_of(column: Column) -> dict[str, object]:
    """Return the table of one column; what has its default value is left out."""
    kind = next(key for key, each in KINDS.items() if each is type(column))
    fields = dataclasses.fields(column)  # type: ignore[arg-type]
    declared = {field.name: getattr(column, field.name) for field in fields}
    return {
        "kind": kind,
        **{field.name: declared[field.name] for field in fields if declared[field.name] != field.default},
    }


def _table(name: str, column: Column) -> str:
    """Write what is declared about a column as its table."""
    lines = [f"{key} = {_value(value)}" for key, value in entry_of(column).items()]
    return "\n".join([f"[columns.{key_of(name)}]", *lines]) + "\n"


def key_of(name: str) -> str:
    """Write the name of a column as a key."""
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    """Write a text, a truth value, a number or a list of these."""
    if isinstance(value, str):
        # JSON and TOML share the escapes of basic strings; only DEL must be escaped in TOML alone.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    assert isinstance(value, float)
    return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_PLAIN_INTEGER else repr(value)
