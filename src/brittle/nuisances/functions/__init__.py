"""Any function of images as a nuisance: how it is called, and the generators that it draws from."""
