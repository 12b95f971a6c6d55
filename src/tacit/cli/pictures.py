"""The pictures that commands save."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from tacit.errors import InvalidParameter
from tacit.files import check_room, write_whole

FORMATS = ("png", "svg", "pdf", "jpg", "jpeg")


def check_picture(path: Path) -> str:
    """Return the format of a picture, that of its ending or png; refuse a place where none can be written."""
    check_room(path, 2**16)
    kind = path.suffix.lower().removeprefix(".") or "png"
    if kind not in FORMATS:
        raise InvalidParameter(f"a picture ends in {', '.join(FORMATS)}, or in nothing and is png; got {path.name!r}.")
    return kind


def write_picture(path: Path, figure: Figure) -> None:
    """Write a figure under exactly this name, as a whole."""
    kind, drawn = check_picture(path), io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=150)
    write_whole(path, [drawn.getvalue()])
