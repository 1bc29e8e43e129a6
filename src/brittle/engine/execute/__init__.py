"""Carrying work out: in this process, or by workers on Ray."""
