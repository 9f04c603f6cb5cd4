"""Results worth keeping, and content keys: what a computed result depends on."""
