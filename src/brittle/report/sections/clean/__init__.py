"""Clean predictions shown: accuracy and confidence on the untouched images."""
