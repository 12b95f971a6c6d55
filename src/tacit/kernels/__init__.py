"""Private learning with kernels: interactive answers, models on public points, and releases without any."""

from tacit.kernels.classification import PrivateKernelClassifier
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.kernel.custom import FunctionKernel
from tacit.kernels.kernel.kernel import Constant, Kernel, Product, Sum
from tacit.kernels.kernel.standard import RBF, Laplacian, Linear, Polynomial
from tacit.kernels.maps.landmarks import Landmarks
from tacit.kernels.regression import PrivateKernelRegressor

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
