"""A service to try: the bundled Adult census table, an analyst and a custodian."""

from dataclasses import dataclass
from typing import final

from tacit.budget import Budget
from tacit.data.bundled import adult_schema, load_adult
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings


@final
@dataclass(frozen=True)
class Demo:
    """The tokens of a demonstration, which are told once."""

    analyst: str
    custodian: str


def prepare_demo(settings: Settings) -> Demo:
    """Register Adult unless it is there already, and make a token for an analyst and one for the custodian."""
    service = Service(settings)
    try:
        if "adult" not in service.datasets.names():
            declared = Declared(
                "adult",
                adult_schema(),
                Budget(3.0, 1e-5),
                signed_by="the demonstration",
                public=("these records: Adult is a public data set",),
            )
            register(declared, load_adult("all", missing="keep"), service.state, settings)
        return Demo(service.tokens.make("analyst", "analyst")[1], service.tokens.make("custodian", "custodian")[1])
    finally:
        service.close()
