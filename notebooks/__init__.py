"""The chapters, and what runs them."""
