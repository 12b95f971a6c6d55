"""What the commands share: a console, and text that shows as it is.

Labels, names and paths are other people's words: nothing in them is markup, an emoji's name or an order to the
terminal. Everything that is not a constant of ours is printed by `say` or stands in a `cell`.
"""

from rich.console import Console
from rich.text import Text

console = Console(highlight=False)


def cell(text: str, style: str = "") -> Text:
    """Return a text of one line, as it is; what cannot be printed is spelled out, like \\x1b."""
    return Text(_spelled_out(text, keep=""), style)


def say(text: str, style: str = "", *, to: Console = console) -> None:
    """Print a text of any number of lines, as it is; what cannot be printed is spelled out, like \\x1b."""
    to.print(Text(_spelled_out(text, keep="\n\t"), style), soft_wrap=True)


def _spelled_out(text: str, *, keep: str) -> str:
    return "".join(
        letter if letter in keep or letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
