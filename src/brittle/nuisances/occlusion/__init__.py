"""Nuisances that hide pixels."""
