"""Connectedness in the console and the report."""
