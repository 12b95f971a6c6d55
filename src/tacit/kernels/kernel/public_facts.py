"""What a release of a kernel model says it took for public."""

from tacit.kernels.kernel.custom import FunctionKernel
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Constant, Kernel, Product, Sum
from tacit.kernels.kernel.proven import is_proven


def public_facts(domain: Domain, loss: str, targets: str) -> tuple[str, ...]:
    """Return what every kernel model assumes: its kernel and bound, the records' form, the loss and the targets."""
    rows = (f"{domain.width} columns", f"rows clipped to norm {domain.norm:g}") if domain.vectors else ()
    return f"kernel {_described(domain.kernel)}", f"K(x, x) <= {domain.square:g}", *rows, f"{loss} loss", targets


def _described(kernel: Kernel) -> str:
    if type(kernel) is Sum:
        return f"{_described(kernel.first)} + {_described(kernel.second)}"
    if type(kernel) is Product:
        return f"({_described(kernel.first)}) * ({_described(kernel.second)})"
    if type(kernel) is Constant:
        return f"{kernel.value:g}"
    if type(kernel) is FunctionKernel:
        return "of a user's function of two records alone"
    return repr(kernel) if is_proven(kernel) else f"{type(kernel).__name__}, a user's function of two records alone"
