"""The book: prose, the ledger of claims, and figures with their sources."""
