"""What augmentations show of themselves: affinity beside diversity."""
