"""Nuisances that blur."""
