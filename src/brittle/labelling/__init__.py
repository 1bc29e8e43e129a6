"""The labelling page: people say which generated images still show their class, in a browser on their own machine."""
