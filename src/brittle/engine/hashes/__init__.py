"""What classifiers, live objects and files are known by when a run is resumed."""
