"""Private learning with kernels: interactive answers, models on public points, and releases without any."""

from tacit.kernels.classification import PrivateKernelClassifier
from tacit.kernels.custom import FunctionKernel
from tacit.kernels.interactive import InteractiveKernelPredictor
from tacit.kernels.kernel import Constant, Kernel, Product, Sum
from tacit.kernels.landmarks import Landmarks
from tacit.kernels.regression import PrivateKernelRegressor
from tacit.kernels.standard import RBF, Laplacian, Linear, Polynomial

__all__ = [
    "RBF",
    "Constant",
    "FunctionKernel",
    "InteractiveKernelPredictor",
    "Kernel",
    "Landmarks",
    "Laplacian",
    "Linear",
    "Polynomial",
    "PrivateKernelClassifier",
    "PrivateKernelRegressor",
    "Product",
    "Sum",
]
