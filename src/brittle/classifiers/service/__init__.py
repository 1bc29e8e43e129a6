"""Classifiers behind a service: `http:URL`, by Brittle's own small protocol or by KServe's v2 inference protocol."""
