"""Contamination study of the robust estimators: see ``run.py``."""
