"""What notebooks show: small cards of facts and rows, every text of them escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_STYLE = "border-collapse:collapse;margin:.3em 0"
_CELL = "padding:.1em .8em .1em 0;text-align:left;vertical-align:top"


def card(
    title: str, facts: Mapping[str, object], columns: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """Return a card as HTML: a title, facts by name, and perhaps a table."""
    lines = [f"<div><strong>{escape(title)}</strong>", f'<table style="{_STYLE}">']
    lines += [f"<tr>{_cell('th', name)}{_cell('td', fact)}</tr>" for name, fact in facts.items()]
    lines.append("</table>")
    if columns:
        lines.append(f'<table style="{_STYLE}"><tr>{"".join(_cell("th", name) for name in columns)}</tr>')
        lines += [f"<tr>{''.join(_cell('td', value) for value in row)}</tr>" for row in rows]
        lines.append("</table>")
    return "".join([*lines, "</div>"])


def plain(
    title: str, facts: Mapping[str, object], columns: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """Return the same as text."""
    lines = [title, *(f"  {name:<12} {fact}" for name, fact in facts.items())]
    table = [tuple(map(str, row)) for row in (columns, *rows)] if columns else []
    widths = [max(len(row[place]) for row in table) for place in range(len(columns))] if table else []
    lines += ["  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _cell(kind: str, value: object) -> str:
    return f'<{kind} style="{_CELL}">{escape(str(value))}</{kind}>'
