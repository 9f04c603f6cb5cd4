"""The book: prose, the ledger of claims, figures and where they come from."""
