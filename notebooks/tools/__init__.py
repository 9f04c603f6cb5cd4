"""What runs, keys, keeps, measures and scaffolds notebooks. No chapter imports it."""
