"""A nuisance and a classifier as one ONNX graph, so that a page can change and classify images without Python."""
