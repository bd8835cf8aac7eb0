"""Every model: exported and checked from the command line; its demo run on the file, without primsplit."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from primsplit.cli import app

MODELS = Path(__file__).parents[2] / "models"
Numbers = Mapping[str, float]


def _digits(found: Numbers) -> bool:
    return found["accuracy"] > 0.95


def _bayesian(found: Numbers) -> bool:
    """At the posterior each component of the gradient has mean 0: 5 Monte-Carlo errors are far."""
    return (
        0.6 < found["acceptance"] < 0.95
        and found["largest_r_hat"] < 1.02
        and found["fewest_effective_draws"] > 300
        and found["largest_score"] < 5
        and found["accuracy_at_mean"] > 0.97
    )


def _lennard_jones(found: Numbers) -> bool:
    """The relaxed energy is the published one (Wales and Doye, 1997)."""
    return (
        found["largest_energy_error"] < 1e-3
        and found["largest_momentum"] < 1e-10
        and abs(found["relaxed_energy"] + 44.326801) < 1e-6
        and found["largest_force"] < 1e-4
    )


def _black_scholes(found: Numbers) -> bool:
    """Hull's prices to the two digits that he prints."""
    return (
        abs(found["hull_call"] - 4.76) < 5e-3
        and abs(found["hull_put"] - 0.81) < 5e-3
        and found["largest_greek_error"] < 1e-10
        and found["largest_implied_volatility_error"] < 1e-10
    )


def _asian(found: Numbers) -> bool:
    return found["largest_error"] < 1e-6 and found["largest_identity_error"] < 1e-10


def _gaussian_process(found: Numbers) -> bool:
    return (
        found["last_log_likelihood"] > found["first_log_likelihood"] + 5
        and found["held_out_error"] < 0.85 * found["held_out_deviation"]
    )


def _kinematics(found: Numbers) -> bool:
    return found["first_distance"] > 0.5 and found["last_distance"] < 1e-3


def _control(found: Numbers) -> bool:
    return found["last_cost"] < 0.05 * found["first_cost"] and found["degrees_from_upright"] < 5


def _robust(found: Numbers) -> bool:
    return found["largest_slope"] < 1e-6 and found["distance"] < 0.3 * found["least_squares_distance"]


def _newton(found: Numbers) -> bool:
    """Newton's method converges in a few steps; the number of products tells that no Hessian was made."""
    return found["largest_slope"] < 1e-9 and found["newton_steps"] < 20 and found["accuracy"] > 0.97


def _poisson(found: Numbers) -> bool:
    """The network's distance from sin(pi x) sin(pi y)."""
    return found["last_loss"] < 1e-3 * found["first_loss"] and found["error"] < 5e-3


def _language(found: Numbers) -> bool:
    """A model that knew how often each character comes, and no more, would lose their entropy."""
    return found["first_loss"] > 3.3 and found["last_loss"] < 0.5 * found["entropy_of_characters"]


def _heat(found: Numbers) -> bool:
    """Conductivities from 0.03 to 0.2, all but met by the measurements of four experiments."""
    return found["last_misfit"] < 1e-6 * found["first_misfit"] and found["largest_error"] < 0.01


def _predator(found: Numbers) -> bool:
    """The rates are those of Carpenter's fit, which also has a prior, to the two digits that he prints."""
    fitted = {"birth": 0.55, "hunt": 0.028, "gain": 0.024, "death": 0.80}
    return (
        found["largest_slope"] < 1e-5
        and found["last_misfit"] < 0.25**2
        and all(abs(found[name] / rate - 1) < 0.05 for name, rate in fitted.items())
    )


def _online(found: Numbers) -> bool:
    """The accuracies are those of guesses before the network learns from an image: in the first epoch it is new."""
    return (
        found["first_loss"] > 2.0
        and found["last_loss"] < 0.15
        and found["right_in_second_half"] > 0.9
        and found["right_in_last_epoch"] > 0.95
        and found["steps"] == 224
    )


def _building(found: Numbers) -> bool:
    """The least damped mode gains from the same dampers, and more than a third of the damping goes to one storey."""
    return found["last_least_damping"] > 1.1 * found["first_least_damping"] and found["largest_share"] > 1 / 3


DEMOS: dict[str, Callable[[Numbers], bool]] = {
    "digits_classifier": _digits,
    "bayesian_logistic": _bayesian,
    "lennard_jones": _lennard_jones,
    "black_scholes": _black_scholes,
    "asian_option": _asian,
    "gaussian_process": _gaussian_process,
    "inverse_kinematics": _kinematics,
    "newton_logistic": _newton,
    "optimal_control": _control,
    "poisson_network": _poisson,
    "robust_regression": _robust,
    "language_model": _language,
    "predator_prey": _predator,
    "online_training": _online,
    "heat_conduction": _heat,
    "damped_building": _building,
}

DEMO = """
import importlib.util, json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "primsplit":
            raise ImportError("primsplit is not here")

sys.meta_path.insert(0, Refuse())
spec = importlib.util.spec_from_file_location("model", sys.argv[1])
model = importlib.util.module_from_spec(spec)
sys.modules["model"] = model
spec.loader.exec_module(model)
print(json.dumps(model.demo(sys.argv[2])))
"""


def _primsplit(*arguments: Any) -> str:
    """Return the output of the command line."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_model_has_a_demo_here() -> None:
    assert {p.stem for p in MODELS.glob("*.py")} == set(DEMOS)


LONG = {"bayesian_logistic", "heat_conduction"}
"""Demos of thousands of steps: slow tests."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in DEMOS])
def test_a_model_is_exported_checked_and_put_to_use(name: str, tmp_path: Path) -> None:
    model, file = MODELS / f"{name}.py", tmp_path / f"{name}.onnx"
    _primsplit("export", model, "--onnx", file)
    given = () if "\nmode = " in model.read_text() else ("--onnx", file)
    told = json.loads(_primsplit("check", model, *given, "--json"))
    assert all(row["error"] < 1e-7 for row in told["rows"])
    done = subprocess.run([sys.executable, "-c", DEMO, model, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert DEMOS[name](found), found


@pytest.mark.parametrize("name", ["digits_classifier", "lennard_jones", "robust_regression"])
def test_a_model_in_float32_is_right_to_float32(name: str) -> None:
    told = json.loads(_primsplit("check", MODELS / f"{name}.py", "--dtype", "float32", "--json"))
    assert all(row["error"] < 1e-3 for row in told["rows"])
