"""The built book: its HTML in every language, and its downloads."""
