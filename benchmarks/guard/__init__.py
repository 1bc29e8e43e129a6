"""A guard against losses of speed: a few cases, each beside what it could be at best or is compared with, turn by turn.

Every case carries a check that both sides did the same; one that fails it is an error, not a number. What is kept in
`benchmarks/results` are ratios of the two sides' times in one run, never times of another day.
"""
