"""Functions in another file that steps of an iteration call: some write, and one sets an object."""

import numpy as np

COUNTS = np.zeros(3)


def valley(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def slope(x):
    inner = x[1:] - x[:-1] ** 2
    found = np.zeros_like(x)
    found[:-1] += -4.0 * x[:-1] * inner - 2 * (1 - x[:-1])
    found[1:] += 2.0 * inner
    return found


def differences():
    found = np.zeros((2, 3))
    for i in range(2):
        found[i, i], found[i, i + 1] = -1.0, 1.0
    return found


def counted(value):
    COUNTS[0] += 1
    return value * COUNTS[0]


def halved(array):
    array[1] = array[1] / 2
    return array[1]


class Momentum:
    def __init__(self, x):
        self.x, self.speed, self.longest = x, np.zeros(3), 0.5

    def step(self, slope):
        self.speed = 0.9 * self.speed - 0.02 * slope
        length = np.sqrt(np.sum(self.speed**2))
        if length > self.longest:
            self.speed = self.speed * (self.longest / length)
        self.x = self.x + self.speed
        return length
