"""The explorer: a page that shows a run and lets its classifiers answer, live, at any θ.

`web/` is the page. It asks a source (`web/source.js`), which here is a server on this machine.
"""
