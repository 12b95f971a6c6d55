"""Two answers, and how they are put into a memory and read from it."""

from tacit.kernels.interactive.memory import KeptAnswer, ProcessMemory
from tacit.kernels.interactive.state_file import FileMemory

Memory = ProcessMemory | FileMemory
ONE, TWO = KeptAnswer(b"a", b"1"), KeptAnswer(b"b", b"2")


def answers_in(memory: Memory) -> list[KeptAnswer]:
    """Return all answers, in a turn."""
    with memory.turn() as turn:
        return turn.since(0)


def keep(memory: Memory, *entries: KeptAnswer) -> None:
    """Keep answers in one turn."""
    with memory.turn() as turn:
        turn.keep(list(entries))
