"""Make the other subpackages available in a terminal, by the command `dp-compendium`."""
