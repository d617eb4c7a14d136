"""Study of bad cells, bad rows and missing cells together: see ``run.py``."""
