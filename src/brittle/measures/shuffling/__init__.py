"""Accuracy on shuffled patches (Marcu & Prügel-Bennett 2022, section 2.1)."""
