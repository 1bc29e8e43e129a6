"""What classifiers say of the untouched images, which other measures read."""
