"""Models of scikit-learn, exported by skl2onnx, have the gradient of scikit-learn's own predictions."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing.differences import directional_derivative

pytest.importorskip("sklearn")
skl2onnx = pytest.importorskip("skl2onnx")

from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.cross_decomposition import PLSRegression  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor, kernels  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402

rng = np.random.default_rng(8)
X = rng.standard_normal((40, 3))
Y = X @ [1.0, -2.0, 0.5] + np.sin(X[:, 0])
CLASSES = np.digitize(Y, [-1.0, 1.0])
RBF = kernels.RBF(1.5) + kernels.WhiteKernel(0.1)


def predict(model: Any) -> Callable[[Any], Any]:
    return lambda x: model.predict(x).reshape(len(x), -1)


def probabilities(model: Any) -> Callable[[Any], Any]:
    return model.predict_proba


MODELS: dict[str, tuple[Any, Any, Callable[[Any], Callable[[Any], Any]], str]] = {
    "LinearRegression": (LinearRegression(), Y, predict, "variable"),
    "LinearRegression of two": (LinearRegression(), np.stack([Y, Y * Y], 1), predict, "variable"),
    "Ridge, scaled": (make_pipeline(StandardScaler(), Ridge()), Y, predict, "variable"),
    "Ridge of squares": (make_pipeline(PolynomialFeatures(2), Ridge()), Y, predict, "variable"),
    "Ridge of directions": (make_pipeline(Normalizer(), Ridge()), Y, predict, "variable"),
    "PLSRegression": (PLSRegression(2), Y, predict, "variable"),
    "PCA": (PCA(2), Y, lambda m: m.transform, "variable"),
    "SVR": (SVR(gamma=0.4), Y, predict, "variable"),
    "SVR of degree 3": (SVR(kernel="poly", gamma=0.4, coef0=1.0), Y, predict, "variable"),
    "MLPRegressor": (
        MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", max_iter=50, random_state=0), Y, predict, "variable"
    ),
    "GaussianProcessRegressor": (GaussianProcessRegressor(RBF, optimizer=None), Y, predict, "GPmean"),
    "GaussianProcessRegressor by distances": (
        GaussianProcessRegressor(RBF, optimizer=None), Y, predict, "GPmean"
    ),
    "LogisticRegression": (LogisticRegression(), CLASSES, probabilities, "probabilities"),
    "LogisticRegression of two": (LogisticRegression(), CLASSES > 1, probabilities, "probabilities"),
    "MLPClassifier": (
        MLPClassifier((8,), activation="logistic", max_iter=50, random_state=0), CLASSES, probabilities, "probabilities"
    ),
    "GaussianNB": (GaussianNB(), CLASSES, probabilities, "probabilities"),
    "QuadraticDiscriminantAnalysis": (QuadraticDiscriminantAnalysis(), CLASSES, probabilities, "probabilities"),
    "KMeans": (KMeans(3, random_state=0), Y, lambda m: m.transform, "scores"),
    "SVC of three": (
        SVC(gamma=0.4, decision_function_shape="ovo"), CLASSES, lambda m: m.decision_function, "probabilities"
    ),
    "SVC": (SVC(gamma=0.4), CLASSES > 1, lambda m: lambda x: m.decision_function(x)[:, None], "probabilities"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_that_of_scikit_learns_predictions(name: str, dtype: Any, tmp_path: Path) -> None:
    if name == "Ridge of squares" and dtype is np.float64:
        pytest.skip("skl2onnx mixes the dtypes, which onnxruntime refuses too")
    model, target, form, output = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target)
        kind = FloatTensorType if dtype is np.float32 else DoubleTensorType
        classifier = hasattr(model, "classes_")
        options = {id(model): {"zipmap": False} if classifier else {"optim": "cdist"} if "distances" in name else {}}
        made = skl2onnx.to_onnx(model, initial_types=[("x", kind([None, 3]))], options=options, target_opset=21)
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    program = ps.load(str(path))
    x = X[:3].astype(dtype)
    results = program(x)
    value = results[program.outputs.index(output)] if isinstance(results, tuple) else results
    predicted = form(model)
    wanted = predicted(X[:3])
    # The decision of two classes is told for each of them.
    value = value[:, :1] if name == "SVC" else value
    np.testing.assert_allclose(value, wanted, rtol=2e-3, atol=2e-3)
    seed = rng.standard_normal(wanted.shape)
    cotangent = np.concatenate([seed, np.zeros((3, 1))], 1) if name == "SVC" else seed
    joint = ps.split(program, wrt="x", of=output).joint()
    cotangent = cotangent.astype(next(t.dtype for t, n in zip(joint.types, joint.inputs, strict=True) if n != "x"))
    gradient = joint(x, cotangent)[-1]
    for _ in range(4):
        direction = rng.standard_normal(x.shape)
        slope = directional_derivative(
            lambda moved: float(np.sum(predicted(moved[0]) * seed)), [X[:3]], [direction], 1e-2
        )
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=2e-3, atol=5e-3)
