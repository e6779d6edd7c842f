"""The names of a network in which this process is every host: each name has an address of its own."""

from __future__ import annotations

import ipaddress
import struct

from mcp_conformance.sandbox.traffic import DNS_HEADER_BYTES, name_asked

NAMES_AT = int(ipaddress.IPv4Address("198.18.0.1"))
"""The address of the first name: RFC 2544 keeps this range for tests, so that no host has one of them."""
MAX_NAMES = 100_000
ADDRESS_RECORD, INTERNET = 1, 1
IS_ANSWER, NO_SUCH_NAME = 0x8180, 3
"""The flags of an answer, and the code for a name that does not exist."""
THIS_NAME = b"\xc0\x0c"
"""What stands for the name of the question in a record."""


class Names:
    """The addresses of all names that were asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def name_of(self, address: str) -> str:
        """Return the name with this address, or the address if no name has it."""
        number = int(ipaddress.ip_address(address)) - NAMES_AT
        names = list(self._numbers)
        return names[number] if 0 <= number < len(names) else address

    def answer(self, question: bytes, *, exists: bool = True) -> bytes | None:
        """Return the answer to a DNS message: one IPv4 address, which is not to be kept, and no other record.

        None if the message is not a question.
        """
        found = asked(question)
        if found is None:
            return None
        name, kind, end = found
        has_address = exists and kind == ADDRESS_RECORD
        flags = IS_ANSWER if exists else IS_ANSWER | NO_SUCH_NAME
        head = question[:2] + struct.pack("!HHHHH", flags, 1, int(has_address), 0, 0)
        record = THIS_NAME + struct.pack("!HHIHI", ADDRESS_RECORD, INTERNET, 0, 4, self._address(name))
        return head + question[DNS_HEADER_BYTES:end] + (record if has_address else b"")

    def _address(self, name: str) -> int:
        number = len(self._numbers) % MAX_NAMES
        return NAMES_AT + self._numbers.setdefault(name, number)


def asked(message: bytes) -> tuple[str, int, int] | None:
    """Return the name and the kind of record that a message asks for, and where its question ends."""
    name, at = name_asked(message)
    try:
        (kind,) = struct.unpack_from("!H", message, at + 1)
    except struct.error:
        return None
    return name.lower(), kind, at + 5
