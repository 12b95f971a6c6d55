"""What may be seen inside the sealed section alone: a wrapper that shows nothing of what it holds."""

from typing import Generic, NoReturn, TypeVar, final

T = TypeVar("T")


@final
class Secret(Generic[T]):
    """Something that depends on records: without length, order, truth, iteration, or a text of its own.

    Guarantee: nothing but `open_secret` gives what is inside; `tools/check_layers.py` lists the modules that call it.
    Assumes: nobody reaches into private names.
    Reference: docs/architecture.md, "The sealed section".
    """

    __slots__ = ("__held",)

    def __init__(self, held: T) -> None:
        self.__held = held

    def __repr__(self) -> str:
        return "Secret(...)"

    def __bool__(self) -> NoReturn:
        raise TypeError("a secret is neither true nor false")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a secret equals nothing")

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")


def open_secret(secret: Secret[T]) -> T:
    """Return what a secret holds, in one of the modules that may."""
    return secret._Secret__held  # type: ignore[attr-defined, no-any-return]
