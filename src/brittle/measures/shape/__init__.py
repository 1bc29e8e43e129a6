"""Shape and texture: accuracy on shuffled patches, cue conflict, and error consistency."""
