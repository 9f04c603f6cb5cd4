"""Adult and Bank Marketing, real or stand-in: `datasets` as frames, `encodings` as tables of categories.

Import the module that is wanted: frames need far less than tables do.
"""
