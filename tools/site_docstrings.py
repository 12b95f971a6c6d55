"""Docstrings as the site shows them: what is promised on lines of its own, parameters and attributes as lists."""

import re
from typing import Any

from griffe import Extension, Object

_CLAIM = re.compile(r"^(Guarantee|Assumes|Reference): ", re.MULTILINE)
_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(\w[\w, ]*) : (.*?)(?=^\w|\Z)", re.MULTILINE | re.DOTALL)


class Sections(Extension):
    """Rewrites every docstring as Markdown while it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """Return a docstring with its claims set apart and its sections as lists."""
    return _CLAIM.sub(r"\n**\1.** ", _SECTION.sub(_listed, docstring))


def _listed(section: re.Match[str]) -> str:
    items = [
        f"- **{', '.join(f'`{name.strip()}`' for name in names.split(','))}**: {' '.join(text.split())}"
        for names, text in _ITEM.findall(section[2])
    ]
    return f"**{section[1]}**\n\n" + "\n".join(items)
