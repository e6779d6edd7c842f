"""The certificates of an authority of our own."""

import ssl

import pytest

from mcp_conformance.backend.trust import replaced_files

pytest.importorskip("trustme")
made = pytest.importorskip("mcp_conformance.backend.authority")


@pytest.mark.parametrize("name", ["api.example.com", "10.1.2.3", "", "ü.example", "a..b"])
def test_there_is_a_certificate_for_any_name(name):
    authority = made.Authority()
    context = authority.context(name)
    assert context is authority.context(name)
    assert context.num_tickets == 0


def test_a_client_that_trusts_the_authority_accepts_its_certificates():
    for trusts in (True, False):
        authority = made.Authority()
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.load_verify_locations(cadata=(authority if trusts else made.Authority()).pem.decode())
        told, asked, names = ssl.MemoryBIO(), ssl.MemoryBIO(), []

        def choose(one, name, _, names=names, authority=authority):
            names.append(name)
            one.context = authority.context(name)

        here = authority.choosing(choose).wrap_bio(asked, told, server_side=True)
        there = client.wrap_bio(told, asked, server_hostname="api.example.com")
        assert shake(there, here) is trusts
        assert names == ["api.example.com"]


def shake(*sides):
    """Return whether both sides come to an agreement."""
    for _ in range(5):
        for one in sides:
            try:
                one.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return True


def test_the_key_of_the_authority_is_never_written(tmp_path):
    replaced_files(tmp_path, made.Authority().pem)
    texts = [one.read_text() for one in tmp_path.iterdir() if one.is_file()]
    assert any("CERTIFICATE" in text for text in texts)
    assert not any("PRIVATE" in text for text in texts)
