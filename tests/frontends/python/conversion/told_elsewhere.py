"""Functions in another file than the branches that test the class or the identity of a value from them."""


def signed(is_up, value):
    return value if is_up is True else -value


def of_a_boolean(value):
    return 2.0 if type(value) is bool else 3.0


def of_a_whole_number(value):
    return 2.0 if isinstance(value, int) else 3.0


def of_class(value):
    return 2.0 if value.__class__ is int else 3.0


def of_attribute(value):
    return 2.0 if hasattr(value, "hex") else 3.0


def is_the(value, other):
    return 2.0 if value is other else 3.0


def matched(value):
    match value:
        case True:
            return 2.0
        case int():
            return 3.0
    return 4.0


class Switch:
    def __init__(self, is_on):
        self.is_on = is_on

    @property
    def sign(self):
        return 1.0 if self.is_on is True else -1.0


def is_held(latch):
    return 2.0 if latch.held is not None else 1.0


def holds_a_text(latch):
    return 2.0 if isinstance(latch.held, str) else 1.0
