"""In which forms of a server's a credential is hidden, and in which it is not: docs/explanation/safety.md."""

import base64
import codecs
import gzip
import json

import pytest

from mcp_conformance.transport.credentials import Secret
from mcp_conformance.transport.redaction import Redaction

SECRET = "Zq7-pX2w_Lm4.Kd9Rt"
RAW = SECRET.encode()
REDACTION = Redaction([Secret(SECRET, is_named=True)])
HIDDEN = {
    "a key": json.dumps({SECRET: 1}),
    "percent signs": "".join(f"%{code:02x}" for code in RAW),
    "escapes": "".join(f"\\u{code:04x}" for code in RAW),
    "entities": "".join(f"&#{code};" for code in RAW),
    "base64": base64.b64encode(RAW).decode(),
    "base64 behind one byte": base64.b64encode(b"a" + RAW + b"zz").decode(),
    "base64 behind two bytes": base64.b64encode(b"ab" + RAW + b"z").decode(),
    "base64 of URLs": base64.urlsafe_b64encode(b"user:" + RAW).decode(),
    "hexadecimal": RAW.hex(),
    "a half": SECRET[:9],
    "two lines": f"{SECRET[:9]}\n{SECRET[9:]}",
    "cut": f"said {SECRET[:5]} [... 20 more ...] ",
}
SHOWN = {
    "a third": SECRET[:6],
    "reversed": SECRET[::-1],
    "capitals": SECRET.upper(),
    "other letters": codecs.encode(SECRET, "rot13"),
    "base64 twice": base64.b64encode(base64.b64encode(RAW)).decode(),
    "base64 in lines": "\n".join(base64.b64encode(RAW).decode()[at : at + 8] for at in range(0, 24, 8)),
    "another base": base64.b32encode(RAW).decode(),
    "compressed": base64.b64encode(gzip.compress(RAW)).decode(),
    "spaces": " ".join(SECRET),
    "numbers": str(list(RAW)),
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_a_credential_in_this_form_is_hidden(text):
    shown = REDACTION.text(text)
    assert "***" in shown
    assert text not in shown


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_a_credential_in_this_form_is_not_found(text):
    """The documentation says so."""
    assert REDACTION.text(text) == text
