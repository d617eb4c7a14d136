"""Displays are drawn for real, without a screen, and every figure is closed again."""

import matplotlib
import pytest


@pytest.fixture(autouse=True)
def plt():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture
def render():
    """Draw a display to pixels, so that nothing is left to be found wrong later."""

    def render(display):
        display.figure_.canvas.draw()
        return display

    return render
