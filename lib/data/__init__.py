"""Adult and Bank Marketing, real or stand-in, as frames and as tables.

Import the module that is wanted: frames need far less than tables do.
"""
