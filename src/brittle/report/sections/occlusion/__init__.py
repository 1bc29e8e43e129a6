"""How accuracy on test and training images falls as more and more is hidden."""
