"""Kept results, and content keys: what a computed result depends on."""
