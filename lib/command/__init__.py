"""What a terminal may ask of the rooms below: the command `dp-compendium`."""
