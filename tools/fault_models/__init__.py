"""The smallest model that shows each fault of a runtime, with what it gives where the fault is not there."""

from tools.fault_models import empty, kernels, loading, numbers, windows
from tools.fault_models.model import FaultModel

MODELS: dict[str, FaultModel] = {**empty.MODELS, **kernels.MODELS, **loading.MODELS, **numbers.MODELS, **windows.MODELS}
"""By the name of the fault."""
