"""Properties of any input: held to a few examples, and to many by a slow test that asks for them."""

from hypothesis import HealthCheck, given, settings

FEW, MANY = 4, 60


def examples_of(number):
    return settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def of_any(**parts):
    """Hold a test to a few examples of its parts."""

    def decorate(test):
        few = examples_of(FEW)(given(**parts)(test))
        few.in_many = examples_of(MANY)(given(**parts)(test))
        return few

    return decorate


def in_many(test, **fixtures):
    """Hold such a test to many examples."""
    test.in_many(**fixtures)
