"""Oracles: what holds whatever a tool means, judged on the scenes in which it shows.

Each module has a function ``judge`` that takes a record of a scene and yields its violations.
"""
