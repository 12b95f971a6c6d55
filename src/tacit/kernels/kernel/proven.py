"""Which kernels are known to be kernels. What a user merely declares is believed nowhere.

Exact kernel models, and noise shaped like a kernel, rest on features with K(x, z) = <phi(x), phi(z)>. Formulas of
tacit's own have them (`is_proven`); no number of records or points could show it of a function or a class of a user's,
and a refusal after a look at records would tell about them. Such kernels are learned with through public landmarks,
whose coordinates are bounded whatever the function returns.
"""

from dataclasses import replace

from tacit.errors import InvalidParameter
from tacit.kernels.kernel.custom import FunctionKernel
from tacit.kernels.kernel.kernel import Constant, Kernel, Product, Sum
from tacit.kernels.kernel.standard import RBF, Laplacian, Linear, Polynomial

_PROVEN = (Constant, Linear, Polynomial, RBF, Laplacian)


def anew(kernel: Kernel) -> Kernel:
    """Return a kernel of tacit's own anew from its parameters: a method put on an instance is no part of a proof."""
    if type(kernel) in (Sum, Product):
        return type(kernel)(anew(kernel.first), anew(kernel.second))  # type: ignore[attr-defined,call-arg]
    return replace(kernel) if is_total(kernel) else kernel  # type: ignore[type-var]


def is_proven(kernel: Kernel) -> bool:
    """Tell whether a kernel's formula is known to be positive semi-definite; a class of a user's own never is."""
    return _built_of(kernel, _PROVEN)


def is_total(kernel: Kernel) -> bool:
    """Tell whether `block` computes each pair by itself and cannot fail: formulas, and a user's function as wrapped."""
    return _built_of(kernel, (*_PROVEN, FunctionKernel))


def check_proven(kernel: Kernel) -> None:
    """Refuse a kernel that is only declared to be one, before any record is looked at."""
    if not is_proven(kernel):
        raise InvalidParameter(
            "this method rests on a kernel that is known to be positive semi-definite, got a function or class of "
            "your own. Give public landmarks and use method='landmarks' (or landmarks=... of an interactive predictor)."
        )


def _built_of(kernel: Kernel, parts: tuple[type[Kernel], ...]) -> bool:
    """Look at exact types: a subclass may override anything."""
    if type(kernel) in (Sum, Product):
        return _built_of(kernel.first, parts) and _built_of(kernel.second, parts)  # type: ignore[attr-defined]
    return type(kernel) in parts
