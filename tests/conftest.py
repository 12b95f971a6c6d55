"""What all tests share: hypothesis without clocks, a PostgreSQL server of their own, one Spark session."""

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings

import support
from support.needs import missing

# One of scikit-learn's checks runs only if this is set before SciPy is loaded.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# The nodes of a local cluster run the tests' own Python, wherever PATH leads.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Tests run beside each other, one to a core: threads of their own would only wait for one another.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile(
    "tacit",
    deadline=None,
    print_blob=True,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tacit")


@dataclass(frozen=True)
class Server:
    """A running PostgreSQL server that listens on a socket in its own folder."""

    folder: Path
    programs: Path
    user: str | None
    spare: list[str] = field(default_factory=list)

    def address(self, database: str, *, user: str = "postgres", password: str | None = None) -> str:
        """Return the URL of one of its databases."""
        login = user if password is None else f"{user}:{password}"
        return f"postgresql://{login}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement outside any transaction."""
        engine = sa.create_engine(
            self.address(database).replace("postgresql://", "postgresql+psycopg://"),
            poolclass=sa.NullPool,
            isolation_level="AUTOCOMMIT",
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)

    def new_database(self) -> str:
        """Create an empty database and return its name."""
        name = f"ledger_{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def restart(self) -> None:
        """Stop as if the machine had, and come back."""
        _run(self.user, *self.command, "-m", "immediate", "-l", self.folder / "log", "restart")

    @property
    def command(self) -> tuple[str | Path, ...]:
        """What starts and stops the server, without what to do."""
        return self.programs / "pg_ctl", "-D", self.folder / "data", "-w"


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's newest server programs, or None where it is not installed."""
    folders = sorted(
        glob.glob("/usr/lib/postgresql/*/bin"), key=lambda folder: float(folder.split("/")[-2]), reverse=True
    )
    on_path = shutil.which("pg_ctl")
    if on_path:
        folders.append(os.path.dirname(os.path.realpath(on_path)))
    for folder in folders:
        if os.path.exists(f"{folder}/initdb") and os.path.exists(f"{folder}/pg_ctl"):
            return Path(folder)
    return None


def _run(user: str | None, *command: str | Path) -> None:
    # A server started by pg_ctl inherits the output: a pipe would stay open for as long as it runs.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")


@contextlib.contextmanager
def _running_server(programs: Path) -> Iterator[Server]:
    # The server refuses to run as root; its folder must be reachable by the user it runs as, and short
    # enough for the path of a socket.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-", dir="/tmp"))
    data = folder / "data"
    if user:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = Server(folder, programs, user)
    stop = (*server.command, "-m", "immediate", "stop")
    end = [sys.executable, Path(support.__file__).with_name("end_server.py"), folder, user or "", *stop]
    with subprocess.Popen(end, stdin=subprocess.PIPE, start_new_session=True):
        _run(
            user, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
            "--no-sync",
        )  # fmt: skip
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=on -c max_connections=50"
        _run(user, *server.command, "-t", "60", "-l", folder / "log", "-o", options, "start")
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """Start a PostgreSQL server for this session, one for each process that runs tests."""
    programs = _programs()
    if programs is None:
        missing("PostgreSQL")
    with _running_server(programs) as server:
        yield server


@pytest.fixture
def database(postgresql: Server) -> Iterator[str]:
    """Give the name of an empty PostgreSQL database that no other test uses meanwhile."""
    name = postgresql.spare.pop() if postgresql.spare else postgresql.new_database()
    yield name
    postgresql.execute("DROP SCHEMA public CASCADE", name)
    postgresql.execute("CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC", name)
    postgresql.spare.append(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of an empty database, once in SQLite and once in PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    server: Server = request.getfixturevalue("postgresql")
    return server.address(request.getfixturevalue("database"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start Spark in this process, with Spark's own defaults for what SQL means."""
    from support.nasty_tables import needs_java

    needs_java()
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
