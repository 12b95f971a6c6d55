"""A service: its settings, what it remembers, its tokens and its data sets."""

from typing import final

from tacit.files import private_folder
from tacit.service.datasets import Datasets
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

    def close(self) -> None:
        """Let go of what is held."""
        self.state.close()
