"""A service to try: the bundled Adult census table, an analyst and a custodian."""

from tacit.budget import Budget
from tacit.data.bundled import adult_schema, load_adult
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings


def prepare_demo(settings: Settings) -> dict[str, str]:
    """Register Adult unless it is there already, and return new tokens for an analyst and the custodian."""
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
        return {scope: service.tokens.make(scope, scope)[1] for scope in ("analyst", "custodian")}
    finally:
        service.close()
