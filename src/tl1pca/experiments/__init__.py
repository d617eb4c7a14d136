"""The paper's studies: a declarative spec, one engine, a tidy table, and what it says.

Needs the extras of the command line: ``pip install "tl1pca[cli,plot,report]"``.
"""

from .engine import Results, evaluate, run
from .spec import Cell, Method, Sample, Source, Study

__all__ = ["Cell", "Method", "Results", "Sample", "Source", "Study", "evaluate", "run"]
