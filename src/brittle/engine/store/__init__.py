"""Where finished units and the files of a run lie."""
