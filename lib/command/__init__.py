"""The command `dp-compendium`, which makes the other subpackages available in a terminal."""
