"""Training: the classifiers that come with Brittle, and networks trained to be measured."""
