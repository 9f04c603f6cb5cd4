"""Make the other subpackages available in a terminal, through the command `dp-compendium`."""
