"""A classifier as a service: `python docs/serve.py 8000`, and then `brittle measure http://127.0.0.1:8000 …`."""

import io
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import torch

import brittle

model = brittle.classifier("bundled:plain")  # yours here: images (n, C, H, W), floats in [0, 1] → scores (n, K)
ABOUT = {"classes": list(model.labels), "output": "log-probabilities", "shape": [1, 28, 28]}


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True  # and small answers leave at once

    def do_GET(self):
        self.answer("application/json", json.dumps(ABOUT).encode())

    @torch.inference_mode()
    def do_POST(self):
        images = np.load(io.BytesIO(self.rfile.read(int(self.headers["Content-Length"]))))
        written = io.BytesIO()
        np.save(written, model.log_probs(torch.from_numpy(images)).numpy())
        self.answer("application/x-npy", written.getvalue())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # a line for every request is too many
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service) as server:
        server.serve_forever()
