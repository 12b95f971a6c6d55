"""YAML that every reader takes the same way: mappings in blocks, texts as JSON quotes them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def to_yaml(plain: Mapping[str, Any]) -> str:
    """Write objects, lists, texts, numbers, truth values and None."""
    return "\n".join(_lines(plain, "")) + "\n"


def _lines(plain: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in plain.items():
        key = name if name.isidentifier() and name.isascii() and name not in _WORDS else _quoted(name)
        if isinstance(value, Mapping) and value:
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list | tuple) and value:
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(each)}" for each in value)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    """Write a value as JSON does, but 1e-06 with a point: without one YAML takes it for a text."""
    if isinstance(value, str):
        return _quoted(value)
    text = json.dumps(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text


def _quoted(text: str) -> str:
    """Write a text as JSON does, but letters that JSON writes as two halves as one: YAML would keep the halves."""
    letters = (f"\\U{ord(each):08x}" if ord(each) > _HALVED else json.dumps(each)[1:-1] for each in text)
    return f'"{"".join(letters)}"'


_HALVED = 0xFFFF
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
