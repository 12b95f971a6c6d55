"""A service: its settings, what it remembers, its tokens and its data sets."""

from typing import final

from tacit.files import private_folder
from tacit.service.datasets import Datasets
from tacit.service.jobs.doing import Doing
from tacit.service.jobs.runner import Runner
from tacit.service.jobs.table import Jobs
from tacit.service.limits import Meter
from tacit.service.metrics import Metrics
from tacit.service.sessions.sessions import Sessions
from tacit.service.sessions.table import SessionTable
from tacit.service.settings import Settings
from tacit.service.state import State
from tacit.service.tokens import Tokens


@final
class Service:
    """What every route finds at `request.app.state.service`."""

    def __init__(self, settings: Settings) -> None:
        private_folder(settings.folder)
        self.settings = settings
        self.state = State(settings.state, settings.limits.seconds)
        self.tokens = Tokens(self.state)
        self.datasets = Datasets(self.state, settings)
        self.datasets.check()
        self.jobs = Jobs(self.state, settings.limits)
        self.session_table = SessionTable(self.state)
        self.sessions = Sessions(settings.sessions, self.datasets.witness)
        self.runner = Runner(self.jobs, Doing(self), settings.job_threads, settings.lease)
        self.meter = Meter(settings.limits)
        self.metrics = Metrics()

    def close(self) -> None:
        """Let go of what is held."""
        self.runner.stop()
        self.state.close()
