"""The release of a table of one's own: its records, a public schema, synthetic records, a report and a statement of the guarantee.

Import a module by its name: `schema` and `sources` read, `synthesizer` releases, and `files` needs no other package.
"""
