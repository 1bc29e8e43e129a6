"""The gate: a study beside the run of an earlier release, conditions on its numbers and named cases: one verdict."""
