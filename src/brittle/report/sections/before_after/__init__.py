"""Before and after shown: what changed and for which classes, and where there is a record, how a hardening was done."""
