"""Nuisances of the air: fog, haze, rain, snow, frost."""
