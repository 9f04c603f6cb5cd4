"""The languages of the book: its editions, and the catalogues of their translations."""
