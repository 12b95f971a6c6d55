"""How long a ledger takes to open, to charge and to say what is spent, by the number of its entries.

    python benchmarks/ledger.py                      measures this tacit
    python benchmarks/ledger.py --before OTHER/src   also another one, taking turns, and prints ratios

Each measurement is made in a fresh process, on an account of its own, in SQLite and in a PostgreSQL server that is
started for it (where it is installed). Long histories are written into the tables directly, as the ledger would. On a
machine with other work, processor time (of this process, not of a server) is the steadier measure.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENTRIES = (100, 1_000, 10_000, 100_000)
PROCESSES = (1, 2, 4)
SPENDS = 25
READERS = 3


def grown(address: str, entries: int, name: str = "account", kinds: int = 10) -> Any:
    """Create an account with so many entries, whose events are of so many kinds in turn."""
    import sqlalchemy as sa

    from tacit.accounting import EpsilonDeltaDpEvent, Ledger, event_to_json

    try:
        from tacit.accounting.links import digest
    except ModuleNotFoundError:  # where an older one has it
        from tacit.accounting.history import digest
    from tacit.budget import Budget

    ledger = Ledger.create(address, name=name, budget=Budget(1000))
    head, rows = ledger.head, []
    for number in range(1, entries + 1):
        epsilon = Fraction(1 + number % kinds, 10**9)
        content = {
            "number": number,
            "time": "2026-01-01T00:00:00.000000+00:00",
            "label": f"question {number}",
            "path": [],
            "epsilon": str(epsilon),
            "delta": "0",
            "event": event_to_json(EpsilonDeltaDpEvent(float(epsilon))),
            "parts": [],
            "fixed_by": None,
        }
        head = digest(head, content)
        rows.append({"account": name, "number": number, "content": json.dumps(content, sort_keys=True), "hash": head})
    with ledger.store.writing(name) as connection:
        insert = "INSERT INTO tacit_entry (account, number, content, hash) VALUES (:account, :number, :content, :hash)"
        connection.execute(sa.text(insert), rows)
        update = sa.text("UPDATE tacit_account SET count = :count, head = :head WHERE name = :name")
        connection.execute(update, {"count": entries, "head": head, "name": name})
    return Ledger.open(address, name=name)


def milliseconds(work: Callable[[], Any], times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median time of some runs."""
    taken = []
    for _ in range(times):
        start = clock()
        work()
        taken.append(clock() - start)
    return 1000 * statistics.median(taken)


def spend(ledger: Any) -> None:
    """Charge next to nothing."""
    from tacit.accounting import EpsilonDeltaDpEvent

    ledger.spend(EpsilonDeltaDpEvent(1e-6), label="one more question")


def raced(address: str, processes: int) -> float:
    """Return how long a spend takes if so many processes spend at once: all of the time over all of the spends."""
    from tacit.accounting import Ledger

    (wait, go), (ready, tell) = os.pipe(), os.pipe()
    children = []
    for _ in range(processes):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(go)
            ledger = Ledger.open(address, name="account")
            os.write(tell, b"x")
            os.read(wait, 1)
            for _ in range(SPENDS):
                spend(ledger)
            os._exit(0)
    for _ in children:
        os.read(ready, 1)
    start = time.perf_counter()
    os.close(go)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    return 1000 * (time.perf_counter() - start) / (processes * SPENDS)


@contextmanager
def readers(address: str, number: int) -> Iterator[None]:
    """Let processes read without a pause."""
    from tacit.accounting import Ledger

    stop, end = os.pipe()
    os.set_blocking(stop, False)
    children = []
    for _ in range(number):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(end)
            ledger = Ledger.open(address, name="account")
            while True:
                _ = ledger.spent
                try:
                    if not os.read(stop, 1):
                        os._exit(0)
                except BlockingIOError:
                    pass
    time.sleep(1)
    yield
    os.close(end)
    for child in children:
        os.waitpid(child, 0)


def among_readers(address: str) -> dict[str, float]:
    """Return the median and the longest time of a spend beside processes that read without a pause."""
    from tacit.accounting import Ledger

    ledger, taken = Ledger.open(address, name="account"), []
    with readers(address, READERS):
        for _ in range(4 * SPENDS):
            start = time.perf_counter()
            spend(ledger)
            taken.append(1000 * (time.perf_counter() - start))
    return {"median": statistics.median(taken), "longest": max(taken)}


def of_parts(address: str) -> float:
    """Return how long it takes to say what is spent over 300 partitions of 100 parts, each with an entry in one."""
    from tacit.accounting import Ledger
    from tacit.budget import Budget

    ledger = Ledger.create(address, name="parts", budget=Budget(1000))
    names = [str(part) for part in range(100)]
    for number in range(300):
        parts = ledger.partition(f"partition {number}", names, fixed_by="index")
        if number % 10 == 0:
            spend(parts["7"])
    return milliseconds(lambda: ledger.spent, 5)


def asked(ledger: Any) -> None:
    """Do with a ledger what an oracle does to answer a question."""
    from tacit.accounting.answers import InLedger, question_digest

    question = question_digest(ledger, [time.perf_counter()])
    assert InLedger().recall(ledger, question) is None
    spend(ledger)
    InLedger().record(ledger, question, {"shares": ["0x1p-1"]})


def measured(address: str, entries: int) -> dict[str, float]:
    """Measure one account; return milliseconds by what was done."""
    from tacit.accounting import Ledger

    ledger = grown(address, entries)
    grown(address, entries, "different", kinds=entries)
    times = 3 if entries > 50_000 else 7
    found = {}
    for kind, name in (("ten kinds of events", "account"), ("all events different", "different")):
        work = lambda name=name: Ledger.open(address, name=name)  # noqa: E731
        found[f"open, {kind}"] = milliseconds(work, times)
        found[f"open, {kind}, processor time"] = milliseconds(work, times, time.process_time)
    found["spent"] = milliseconds(lambda: ledger.spent, 25)
    found["spent, processor time"] = milliseconds(lambda: ledger.spent, 25, time.process_time)
    for processes in PROCESSES:
        found[f"spend, {processes} process{'es' if processes > 1 else ''}"] = raced(address, processes)
    return found


def extras(address: str) -> dict[str, float]:
    """Measure what does not depend on the number of entries."""
    from tacit.accounting import Ledger

    grown(address, 1000)
    beside = among_readers(address)
    ledger = Ledger.open(address, name="account")
    asked(ledger)
    return {
        f"a spend beside {READERS} processes that read without a pause, median": beside["median"],
        f"a spend beside {READERS} processes that read without a pause, longest of {4 * SPENDS}": beside["longest"],
        "an ask: looked up, charged, written down": milliseconds(lambda: asked(ledger), 25),
        "spent, over 300 partitions of 100 parts": of_parts(address),
    }


@contextmanager
def databases() -> Iterator[dict[str, Callable[[], str]]]:
    """Give ways to make an empty database: a file, and one of a server's if it is installed."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from conftest import _programs, _running_server

    with tempfile.TemporaryDirectory() as folder:
        made: list[int] = []

        def file() -> str:
            made.append(1)
            return f"sqlite:///{folder}/{len(made)}.db"

        programs = _programs()
        if programs is None:
            yield {"SQLite": file}
            return
        with _running_server(programs) as server:
            yield {"SQLite": file, "PostgreSQL": lambda: server.address(server.new_database())}


def run(source: Path, address: str, entries: str) -> dict[str, float]:
    """Measure one source in a fresh process."""
    command = [sys.executable, __file__, "--measure", address, entries]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="the src folder of another tacit to compare with")
    parser.add_argument("--measure", nargs=2, metavar=("ADDRESS", "ENTRIES"), help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the fastest counts")
    chosen = parser.parse_args()
    if chosen.measure:
        address, entries = chosen.measure
        print(json.dumps(extras(address) if entries == "extras" else measured(address, int(entries))))
        return
    sources = {"after": HERE.parent / "src"}
    if chosen.before:
        sources = {"before": chosen.before.resolve(), **sources}
    with databases() as new:
        for database, address in new.items():
            print(
                f"\n| {database}, entries | what | {' | '.join(f'{name}, ms' for name in sources)} | before / after |"
            )
            print(f"|{'---|' * (3 + len(sources))}", flush=True)
            for entries in [*(str(number) for number in ENTRIES), "extras"]:
                rounds = [
                    {name: run(source, address(), entries) for name, source in sources.items()}
                    for _ in range(chosen.rounds)
                ]
                for what in rounds[0]["after"]:
                    times = [min(found[name][what] for found in rounds) for name in sources]
                    shown = " | ".join(f"{value:,.1f}" for value in times)
                    title = f"{int(entries):,}" if entries != "extras" else ""
                    ratio = f"{times[0] / times[-1]:.1f}" if len(times) > 1 else ""
                    print(f"| {title} | {what} | {shown} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
