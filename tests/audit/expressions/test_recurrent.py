"""Recurrent layers as calls of a helper."""

from tests.audit.expressions.written import text_of

LAYER = ("float32[5,2,3]", "float32[1,4,3]", "float32[1,4,4]")


def test_a_layer_names_its_cell_and_its_functions() -> None:
    text = text_of("RNN", *LAYER, outputs=2)
    assert text == "_recurrent(_rnn_cell, a, b, c, None, None, None, activations=['Tanh'])"
    both = text_of("GRU", *LAYER, outputs=2, direction="reverse", clip=3.0)
    assert both.endswith("activations=['Sigmoid', 'Tanh'], direction='reverse', clip=3.0)")
    assert text_of("LSTM", *LAYER, outputs=1).endswith("activations=['Sigmoid', 'Tanh', 'Tanh'])[0]")


def test_numbers_of_functions_go_with_their_names() -> None:
    text = text_of("RNN", *LAYER, outputs=2, activations=["Affine"], activation_alpha=[0.5], activation_beta=[1.0])
    assert "activations=[('Affine', 0.5, 1.0)]" in text


def test_a_number_goes_to_the_first_function_that_has_one() -> None:
    text = text_of("GRU", *LAYER, outputs=2, activations=["Sigmoid", "LeakyRelu"], activation_alpha=[0.25])
    assert "activations=['Sigmoid', ('LeakyRelu', 0.25)]" in text
    text = text_of("RNN", *LAYER, outputs=2, activations=["HardSigmoid"])
    assert "activations=[('HardSigmoid', 0.2, 0.5)]" in text


def test_peepholes_of_both_directions_are_one_argument() -> None:
    inputs = (*LAYER, None, None, None, None, "float32[2,12]")
    assert "peepholes=h" in text_of("LSTM", *inputs, direction="bidirectional")
