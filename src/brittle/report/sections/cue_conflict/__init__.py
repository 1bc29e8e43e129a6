"""What cue conflict shows of itself."""
