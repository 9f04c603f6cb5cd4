"""Adult and Bank Marketing, real or stand-in, as frames and as tables of categories."""

from .encodings import adult_domain, adult_table, bank_domain, bank_table
