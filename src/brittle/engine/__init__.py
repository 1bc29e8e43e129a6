"""The engine: a plan cut into units, carried out in fixed-size batches, each unit stored whole or not at all."""
