"""The text files of a furnished folder, by their name."""

from __future__ import annotations

import json

ROWS = (("name", "quantity", "price"), ("apples", 12, 0.5), ("bread", 3, 2.25), ("cheese", 7, 4.75))
"""The items that all files are about: a header and three rows."""

TEXT = """\
The shop sells three items.

Apples come on Monday, bread comes every day.
The cheese is kept in the cold room.
TODO: count the eggs.
"""
MARKDOWN = """\
# Shop

The shop sells three items.

## Items

| name | quantity | price |
|---|---|---|
| apples | 12 | 0.5 |
| bread | 3 | 2.25 |
| cheese | 7 | 4.75 |

## Tasks

- [ ] count the eggs
- [x] order apples
"""
CSV = "".join(",".join(map(str, row)) + "\n" for row in ROWS)
OBJECTS = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
PROGRAM = '''\
"""Count what the items of a shop are worth."""

ITEMS = {"apples": (12, 0.5), "bread": (3, 2.25), "cheese": (7, 4.75)}


class Shop:
    """A shop with items."""

    def __init__(self, items):
        self.items = items

    def total(self):
        """Return the worth of all items."""
        return sum(quantity * price for quantity, price in self.items.values())


def main():
    print(Shop(ITEMS).total())


if __name__ == "__main__":
    main()
'''
SCRIPT = """\
const items = [{ name: "apples", quantity: 12, price: 0.5 }];

export function total(list = items) {
  return list.reduce((sum, item) => sum + item.quantity * item.price, 0);
}
"""
HTML = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Shop</title></head>
<body>
<h1>Shop</h1>
<p id="about">The shop sells three items.</p>
<ul><li>apples</li><li>bread</li><li>cheese</li></ul>
<a href="example.txt">More</a>
</body>
</html>
"""
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<shop>
  <item name="apples"><quantity>12</quantity><price>0.5</price></item>
  <item name="bread"><quantity>3</quantity><price>2.25</price></item>
  <item name="cheese"><quantity>7</quantity><price>4.75</price></item>
</shop>
"""
YAML = """\
shop:
  open: true
  items:
    - name: apples
      quantity: 12
    - name: bread
      quantity: 3
"""
TOML = """\
title = "Shop"

[items.apples]
quantity = 12
price = 0.5
"""
INI = """\
[shop]
open = yes
items = 3
"""
LOG = """\
2025-03-03 09:00:00 INFO The shop opens
2025-03-03 09:05:12 WARNING Only 3 loaves of bread are left
2025-03-03 09:30:41 ERROR The scale does not answer
"""
SQL = """\
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, quantity INTEGER, price REAL);
INSERT INTO items (name, quantity, price) VALUES ('apples', 12, 0.5), ('bread', 3, 2.25), ('cheese', 7, 4.75);
"""
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" viewBox="0 0 40 40">
  <circle cx="20" cy="20" r="16" fill="red"/>
</svg>
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "about", "metadata": {}, "source": ["# Shop\n"]},
        {
            "cell_type": "code",
            "id": "total",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": ["print(12 * 0.5)\n"],
        },
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def texts() -> dict[str, bytes]:
    """Return the contents of the text files by their path in the folder, in UTF-8 with LF.

    The program has a name that no module can have: Python would import a module of the working directory
    instead of the server's own.  Nor has a file the name of one that a runtime, a package manager or a server
    looks for where it starts, such as ``package.json`` or ``.env``.
    """
    found = {
        "example.txt": TEXT,
        "example.md": MARKDOWN,
        "example.csv": CSV,
        "example.json": json.dumps({"shop": {"open": True, "items": OBJECTS}}, indent=2) + "\n",
        "example.jsonl": "".join(json.dumps(one) + "\n" for one in OBJECTS),
        "example-program.py": PROGRAM,
        "example.js": SCRIPT,
        "example.html": HTML,
        "example.xml": XML,
        "example.yaml": YAML,
        "example.toml": TOML,
        "example.ini": INI,
        "example.log": LOG,
        "example.sql": SQL,
        "example.svg": SVG,
        "example.ipynb": json.dumps(NOTEBOOK, indent=1) + "\n",
        "example-notes/first-note.md": "# First note\n\nThe apples are ripe. See [[second-note]]. #fruit\n",
        "example-notes/second-note.md": "# Second note\n\nThe bread comes every day.\n",
    }
    return {name: text.encode() for name, text in found.items()}
