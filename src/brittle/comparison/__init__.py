"""Two runs of the same images and the same θ, side by side: whether they can be compared, paired differences, and which
pictures are wrong that were right before."""
