"""Thumbnails of the gallery that can be read at their size: a part of a figure, not all of it shrunk."""

from pathlib import Path

from PIL import Image

#: The figure of a script, and its part as shares of width and height: left, top, right, bottom.
PARTS = {
    "biplot_scree": (2, 0.5, 0.0, 1.0, 0.75),
    "cells": (1, 0.0, 0.0, 1.0, 0.74),
    "choose_k": (1, 0.5, 0.0, 1.0, 1.0),
    "cluster": (1, 0.0, 0.0, 0.5, 1.0),
    "compare": (1, 0.507, 0.0, 1.0, 1.0),
    "convergence": (2, 0.0, 0.0, 1.0, 1.0),
    "gpu": (1, 0.0, 0.0, 0.53, 1.0),
    "images": (1, 0.0, 0.0, 0.51, 0.755),
    "lfw": (2, 0.0, 0.06, 0.52, 1.0),
    "monitoring": (3, 0.0, 0.0, 1.0, 1.0),
    "new_rows": (1, 0.0, 0.49, 0.75, 1.0),
    "operators": (1, 0.0, 0.0, 0.4, 1.0),
    "outlier_map": (2, 0.0, 0.0, 1.0, 1.0),
    "reconstruction": (2, 0.0, 0.0, 0.62, 1.0),
    "rings": (1, 0.655, 0.0, 1.0, 1.0),
    "robustness": (1, 0.0, 0.0, 0.62, 1.0),
    "stream": (1, 0.0, 0.0, 0.5, 1.0),
    "toy": (1, 0.0, 0.0, 0.5, 1.0),
}


def cut(app):
    """Put the parts in the place of the thumbnails that sphinx-gallery has made."""
    images = Path(app.srcdir, "auto_examples", "images")
    for thumbnail in images.glob("thumb/sphx_glr_plot_*_thumb.png"):
        name = thumbnail.stem.removeprefix("sphx_glr_plot_").removesuffix("_thumb")
        number, left, top, right, bottom = PARTS[name]
        with Image.open(images / f"sphx_glr_plot_{name}_{number:03d}.png") as figure:
            width, height = figure.size
            box = (left * width, top * height, right * width, bottom * height)
            figure.crop([round(edge) for edge in box]).save(thumbnail)


def setup(app):
    """Run after the gallery, which also begins with the builder."""
    app.connect("builder-inited", cut, priority=900)
    return {"parallel_read_safe": True}
