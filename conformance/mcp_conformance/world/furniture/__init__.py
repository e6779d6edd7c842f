"""What a furnished folder contains: small files of many kinds, made with the standard library alone.

Each module makes the bytes of some kinds of files; nothing here writes a file.  All of them are about the
same three items of a small shop, so that what a tool finds in one file it finds in another.
"""
