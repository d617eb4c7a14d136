"""Configuration of the documentation; `make docs` builds it, warnings are errors, nothing is fetched."""

import os
import sys
from pathlib import Path

# Examples are small: one thread is faster, and the last digits then depend less on the machine.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import tl1pca  # noqa: E402

project = "tl1pca"
author = "The tl1pca developers"
copyright = author
version = release = tl1pca.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_docstrings",
    "thumbnails",
]
root_doc = "index"
exclude_patterns = ["_build", "_templates", "_ext", "README.md", "_scaling_blocks.md"]
templates_path = ["_templates"]
smartquotes_action = "qe"  # two dashes begin an option
suppress_warnings = ["config.cache"]
# A name in single backticks in a docstring is a link where there is something to link to.
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # The other scripts of the folder are commands, not pages.
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "plot_gallery": "True",
    "show_memory": False,
    # Its page of times loads scripts from elsewhere.
    "write_computation_times": False,
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"tl1pca {version}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_context = {"default_mode": "auto"}  # light or dark as the system is
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": []}
