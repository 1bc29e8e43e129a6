"""The out-of-class filter (CNS-Bench, section 3.4)."""
