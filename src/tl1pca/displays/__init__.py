"""Plots of fitted estimators, in the manner of scikit-learn's displays.

``Display.from_estimator(estimator, X)`` computes what is drawn and draws it;
``display.plot(ax=...)`` draws it again elsewhere. Everything drawn is kept on
the display. matplotlib (the extra ``plot``) is imported when something is
drawn, not before.
"""

from ._cells import CellMapDisplay
from ._contributions import ContributionDisplay
from ._control import ControlChartDisplay
from ._curves import ConvergenceDisplay, OperatorDisplay, ScreeDisplay
from ._images import ReconstructionDisplay
from ._map import OutlierMapDisplay
from ._scores import BiplotDisplay, ScoreDisplay
from ._selection import SelectionDisplay

__all__ = [
    "BiplotDisplay",
    "CellMapDisplay",
    "ContributionDisplay",
    "ControlChartDisplay",
    "ConvergenceDisplay",
    "OperatorDisplay",
    "OutlierMapDisplay",
    "ReconstructionDisplay",
    "ScoreDisplay",
    "ScreeDisplay",
    "SelectionDisplay",
]
