"""Adult and Bank Marketing, real or stand-in, as frames and as tables; and tables of one's own, from their schema to their release.

Import the module that is wanted: frames need far less than tables do.
"""
