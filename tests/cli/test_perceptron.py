"""The example that `primsplit example` writes: its loss and its gradient."""

import inspect

import numpy as np
import scipy.special

import primsplit as ps
from primsplit.cli.perceptron import example_inputs, log_softmax, loss, specs, wrt
from primsplit.testing import check_grads
from primsplit.tracing.specs import parse_spec


def test_the_loss_is_the_mean_cross_entropy_of_its_classes() -> None:
    w, b, v, c, rows, classes = example_inputs()
    scores = np.tanh(rows @ w + b) @ v + c
    wanted = -np.log(scipy.special.softmax(scores, axis=1)[classes.astype(bool)]).mean()
    np.testing.assert_allclose(loss(*example_inputs()), wanted, rtol=1e-5)
    np.testing.assert_allclose(log_softmax(scores), scipy.special.log_softmax(scores, axis=1), rtol=1e-5)


def test_the_example_fits_the_specs_and_names_arguments() -> None:
    assert [*specs] == [*inspect.signature(loss).parameters]
    assert {*wrt} < {*specs}
    program = ps.trace(loss, *(parse_spec(text) for text in specs.values()))
    np.testing.assert_allclose(program(*example_inputs()), loss(*example_inputs()), rtol=1e-5)


def test_its_gradient_is_that_of_differences() -> None:
    check_grads(loss, *(x.astype(np.float64) for x in example_inputs()), order=1, symbolic=False)
