"""A layer of a convolutional network: convolution, bias, relu, pooling."""

import numpy as np

from primsplit.extend import op


def layer(images, kernel, bias):
    features = op.Conv(images, kernel, bias, pads=[1, 1, 1, 1])
    active = np.maximum(features, 0)
    return op.MaxPool(active, kernel_shape=[2, 2], strides=[2, 2])


main, wrt = "layer", ("images", "kernel", "bias")
specs = {"images": "f32[N,3,8,8]", "kernel": "f32[4,3,3,3]", "bias": "f32[4]"}


def example_inputs():
    random = np.random.default_rng(0)
    return tuple(random.normal(size=shape).astype("f") for shape in ((2, 3, 8, 8), (4, 3, 3, 3), (4,)))
