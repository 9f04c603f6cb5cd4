"""The built book: its HTML in every language, and the files that it offers for download."""
