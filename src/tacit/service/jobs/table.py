"""The jobs of a service, in its state: who has which in hand, how far it is, and what came of it.

A job is waiting, running, done, failed or cancelled. Whoever runs it holds it by a name of their own and raises its
beat now and then; whoever sees a beat stand still takes the job over, under a new name. Only the present holder can
write how a job ended: what a former one drew is kept by nobody and given to nobody. No clock is compared with another
machine's, or with itself before it was set.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Self, final

import sqlalchemy as sa

from tacit.noise import unique_name
from tacit.service.clock import now
from tacit.service.refusals import Refusal, missing
from tacit.service.settings import Limits
from tacit.service.state import State, table
from tacit.service.tokens import Caller

JOB = table(
    "job",
    "id",
    "owner ticket dataset kind body state created",
    "holder result error finished",
    *(sa.Column(name, sa.Integer, nullable=False) for name in ("done", "total", "beat", "attempts")),
    sa.UniqueConstraint("ticket"),
    sa.Index("tacit_service_job_state", "state", "created"),
    sa.Index("tacit_service_job_owner", "owner", "created"),
)
PRODUCT = table("product", "job", "", "card page", sa.Column("model", sa.LargeBinary))
"""What jobs made to be fetched: a model file with its card, and a page about it or about scores."""

MOST_ATTEMPTS = 5
"""How often a job is begun until it has a result. Workers die for reasons of their own; should one die of what it drew,
not for ever."""
UNFINISHED = ("waiting", "running")
ENDED = ("failed", "cancelled")
JOB_TICKET = "job "
"""What stands before the ticket of a request in that of its job."""
_MOST_LISTED = 200


@final
@dataclass(frozen=True)
class JobProduct:
    """What a job made: public facts, and what is fetched by itself."""

    result: Mapping[str, Any]
    model: bytes | None = None
    card: str | None = None
    page: str | None = None


@final
@dataclass(frozen=True)
class Job:
    """A job as it was when it was read; `holder` is the name by which somebody has it in hand."""

    id: str
    owner: str
    ticket: str
    dataset: str
    kind: str
    body: Mapping[str, Any]
    state: str
    done: int
    total: int
    holder: str | None
    beat: int
    attempts: int
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    created: str
    finished: str | None

    @classmethod
    def of(cls, row: Any) -> Self:
        """Read a row of the table."""
        plain = {name: row._mapping[name] for name in cls.__dataclass_fields__}
        for name in ("body", "result", "error"):
            plain[name] = None if plain[name] is None else json.loads(plain[name])
        return cls(**plain)


@final
class Jobs:
    """All jobs of a service, as any of its workers sees them.

    A job that ends without being done is ended in the account, too, by `end_ticket` of a data set and a ticket: what is
    told of its charges stays true whoever has it in hand still, and if a state from before has it wait again. A damaged
    account is told once it is mended, before another job is begun or this one is told as uncharged.
    """

    def __init__(self, state: State, limits: Limits, end_ticket: Callable[[str, str], None]) -> None:
        self._state, self._limits, self._end_ticket = state, limits, end_ticket

    def add(self, owner: str, ticket: str, dataset: str, kind: str, body: Mapping[str, Any]) -> Job:
        """Add a job, or return the one that this ticket has; refuse more than one person, or all, may have waiting."""
        row = {
            "id": unique_name(), "owner": owner, "ticket": ticket, "dataset": dataset, "kind": kind,
            "body": json.dumps(body), "state": "waiting", "done": 0, "total": 0, "beat": 0, "attempts": 0,
            "created": now(),
        }  # fmt: skip
        with self._state.writing() as connection:
            # What is counted is not more by the time that a row is inserted.
            self._state.alone(connection)
            known = connection.execute(sa.select(JOB).where(JOB.c.ticket == ticket)).first()
            if known is None:
                self._check_room(connection, owner)
                connection.execute(sa.insert(JOB).values(row))
                known = connection.execute(sa.select(JOB).where(JOB.c.ticket == ticket)).one()
        return Job.of(known)

    def under(self, ticket: str) -> Job | None:
        """Return the job that a ticket has, if it has one."""
        row = self._state.row(sa.select(JOB).where(JOB.c.ticket == ticket))
        return None if row is None else Job.of(row)

    def _check_room(self, connection: sa.Connection, owner: str) -> None:
        all_jobs = sa.select(sa.func.count()).select_from(JOB)
        unfinished, own = JOB.c.state.in_(UNFINISHED), JOB.c.owner == owner
        for limit, which, words in (
            (self._limits.jobs, (unfinished, own), "you have as many unfinished jobs as may be"),
            (self._limits.queue, (unfinished,), "the service has as many unfinished jobs as may be"),
            (self._limits.kept, (own,), "you have had as many jobs as are kept for one person"),
        ):
            if connection.execute(all_jobs.where(*which)).scalar_one() >= limit:
                raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, "TooManyJobs", f"{words}.", wait=10)

    def of(self, caller: Caller, job: str, *, anybodys: bool = False) -> Job:
        """Return a caller's job, or anybody's; what is not theirs to see is refused as if it were not there."""
        row = self._state.row(sa.select(JOB).where(JOB.c.id == job))
        if row is None or not (anybodys or row.owner == caller.name) or not caller.sees(row.dataset):
            raise missing("job")
        return Job.of(row)

    def listed(self, caller: Caller, kind: str | None = None, state: str | None = None) -> list[Job]:
        """Return a caller's last jobs, the newest first."""
        wanted = sa.select(JOB).where(JOB.c.owner == caller.name).order_by(JOB.c.created.desc()).limit(_MOST_LISTED)
        for column, value in ((JOB.c.kind, kind), (JOB.c.state, state)):
            wanted = wanted if value is None else wanted.where(column == value)
        return [Job.of(row) for row in self._state.rows(wanted) if caller.sees(row.dataset)]

    def of_dataset(self, dataset: str) -> list[Job]:
        """Return the last jobs about a data set, whoever's they are, the newest first."""
        wanted = sa.select(JOB).where(JOB.c.dataset == dataset).order_by(JOB.c.created.desc()).limit(_MOST_LISTED)
        return [Job.of(row) for row in self._state.rows(wanted)]

    def ended(self, dataset: str) -> list[str]:
        """Return the tickets of all jobs about a data set that ended without being done."""
        wanted = sa.select(JOB.c.ticket).where(JOB.c.dataset == dataset, JOB.c.state.in_(ENDED))
        return [row.ticket for row in self._state.rows(wanted)]

    def beats(self) -> dict[str, int]:
        """Return the beat of every job that is in somebody's hand."""
        rows = self._state.rows(sa.select(JOB.c.id, JOB.c.beat).where(JOB.c.state == "running"))
        return {row.id: row.beat for row in rows}

    def claim(self, put_off: Mapping[str, str] = MappingProxyType({})) -> Job | None:
        """Take a job that waits in hand, if there is one: that which waits longest, or since it was put off."""
        waiting = sa.select(JOB.c.id, JOB.c.beat, JOB.c.created).where(JOB.c.state == "waiting")
        first = min(self._state.rows(waiting), key=lambda row: (put_off.get(row.id, row.created), row.id), default=None)
        return None if first is None else self.take(first.id, first.beat, "waiting")

    def take(self, job: str, beat: int, state: str = "running") -> Job | None:
        """Take a job in hand, under a new name, if its beat is still this one; nothing if somebody was faster."""
        holder = unique_name()
        taking = (
            sa.update(JOB)
            .where(JOB.c.id == job, JOB.c.state == state, JOB.c.beat == beat)
            .values(state="running", holder=holder, beat=beat + 1, attempts=JOB.c.attempts + 1, done=0)
        )
        with self._state.writing() as connection:
            if connection.execute(taking).rowcount != 1:
                return None
            return Job.of(connection.execute(sa.select(JOB).where(JOB.c.id == job)).one())

    def beating(self, job: Job, done: int, total: int) -> bool:
        """Raise the beat of a job in hand, and say how far it is; False if it is no longer in this hand."""
        return self._in_hand(job, beat=JOB.c.beat + 1, done=done, total=total)

    def hand_back(self, job: Job) -> None:
        """Let a job wait to be begun again: this worker stops, or a place cannot be reached; no attempt is counted."""
        self._in_hand(job, state="waiting", holder=None, attempts=JOB.c.attempts - 1, done=0)

    def keep(self, job: Job, product: JobProduct, *also: sa.Insert) -> bool:
        """Keep what a job made, all of it or nothing, if the job is still in this hand; it is given once it is done."""
        with self._state.writing() as connection:
            values = {"result": json.dumps(product.result)}
            if connection.execute(self._update(job, values)).rowcount != 1:
                return False
            made = {"job": job.id, "model": product.model, "card": product.card, "page": product.page}
            connection.execute(sa.insert(PRODUCT).values(made))
            for insert in also:
                connection.execute(insert)
        return True

    def finish(self, job: Job) -> bool:
        """Say that a job is done whose result was kept, if the job is still in this hand."""
        return self._in_hand(job, state="done", finished=now())

    def fail(self, job: Job, error: Mapping[str, Any]) -> bool:
        """Write down that a job failed, if it is still in this hand; one whose result was kept cannot fail any more."""
        failing = self._update(job, {"state": "failed", "error": json.dumps(error), "finished": now()})
        return self._ended(job, failing.where(JOB.c.result.is_(None)))

    def end(self, job: Job) -> Job:
        """Cancel a job if it is not finished; whoever has it in hand can keep nothing of it any more."""
        ending = (
            sa.update(JOB)
            .where(JOB.c.id == job.id, JOB.c.state.in_(UNFINISHED))
            .values(state="cancelled", finished=now())
        )
        self._ended(job, ending)
        return Job.of(self._state.row(sa.select(JOB).where(JOB.c.id == job.id)))

    def _ended(self, job: Job, ending: sa.Update) -> bool:
        """End a job, in the account before anybody can read of it; False if it is not to be ended.

        Nobody's writes wait for the account. Whoever goes on with the job meanwhile is charged nothing more.
        """
        assert ending.whereclause is not None
        if self._state.row(sa.select(JOB.c.id).where(ending.whereclause)) is None:
            return False
        self._end_ticket(job.dataset, job.ticket)
        with self._state.writing() as connection:
            return bool(connection.execute(ending).rowcount == 1)

    def product(self, job: Job) -> JobProduct:
        """Return what a finished job made."""
        row = self._state.row(sa.select(PRODUCT).where(PRODUCT.c.job == job.id))
        if row is None or job.state != "done" or job.result is None:
            raise missing("result")
        return JobProduct(job.result, row.model, row.card, row.page)

    def _in_hand(self, job: Job, **values: Any) -> bool:
        with self._state.writing() as connection:
            return bool(connection.execute(self._update(job, values)).rowcount == 1)

    def _update(self, job: Job, values: Mapping[str, Any]) -> sa.Update:
        mine = (JOB.c.id == job.id, JOB.c.state == "running", JOB.c.holder == job.holder)
        return sa.update(JOB).where(*mine).values(**values)
