"""Image sets that come in scales: the same pictures, stored at several severities of one or more shifts."""
