"""Event streams by the HTML standard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_conformance.transport.http.events import Event, EventParser, EventTooLarge

STREAMS = [
    (b"data: a\n\n", [Event(data="a")]),
    (b"data: a\r\ndata: b\r\n\r\n", [Event(data="a\nb")]),
    (b"data: a\rdata:b\r\rdata: c\n\n", [Event(data="a\nb"), Event(data="c")]),
    (b"\xef\xbb\xbfdata: a\n\n", [Event(data="a")]),
    (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [Event(data="a")]),
    (b": note\ndata: a\n\n", [Event(data="a")]),
    (b"data\n\n", [Event(data="")]),
    (b"data:\n\n", [Event(data="")]),
    (b"data\ndata\n\n", [Event(data="\n")]),
    (b"data:  a: b\n\n", [Event(data=" a: b")]),
    (b"id: 7\n\n", [Event(id="7")]),
    (b"id: 7\nretry: 100\ndata:\n\n", [Event(id="7", retry=100, data="")]),
    (b"id: 7\ndata: a\n\ndata: b\n\n", [Event(id="7", data="a"), Event(data="b")]),
    (b"id\ndata: a\n\n", [Event(id="", data="a")]),
    (b"id: a\0b\ndata: a\n\n", [Event(data="a")]),
    (b"retry: 1x\nretry: -1\nretry:\ndata: a\n\n", [Event(data="a")]),
    (b"retry: " + b"9" * 5000 + b"\n\n", [Event(retry=10**18 - 1)]),
    (b"event: ping\ndata: a\n\n", [Event(name="ping", data="a")]),
    (b"event:\ndata: a\n\n", [Event(data="a")]),
    (b"\n\n\r\n", []),
    ("data: é\u2028ü\n\n".encode(), [Event(data="é\u2028ü")]),
    (b"data: a\n", []),
    (b"DATA: a\n data: b\n\n", []),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
def test_a_stream_has_these_events_wherever_it_is_cut(stream, expected):
    for cut in range(min(len(stream), 60) + 1):
        parser = EventParser()
        assert parser.feed(stream[:cut]) + parser.feed(stream[cut:]) == expected
    parser = EventParser()
    assert [event for byte in stream for event in parser.feed(bytes([byte]))] == expected


@given(
    st.lists(st.sampled_from([b"data", b"id", b":", b" ", b"\r", b"\n", b"\r\n", b"x", b"\xc3\xa9"])),
    st.data(),
)
def test_cuts_never_matter(parts, data):
    stream = b"".join(parts)
    whole, cut = EventParser(), EventParser()
    at = data.draw(st.integers(0, len(stream)))
    assert cut.feed(stream[:at]) + cut.feed(stream[at:]) == whole.feed(stream)
    assert (cut.is_unfinished, cut.comments, cut.last_id) == (
        whole.is_unfinished,
        whole.comments,
        whole.last_id,
    )


def test_an_event_is_reported_with_its_blank_line_even_if_that_ends_with_cr():
    assert EventParser().feed(b"data: a\r\n\r") == [Event(data="a")]


def test_the_counts_of_a_stream():
    parser = EventParser()
    parser.feed(b": one\n:\ntwo: 2\nid: 3\n\nfour\n\n")
    assert (parser.comments, parser.unknown_fields, parser.last_id, parser.is_utf8) == (2, 2, "3", True)


def test_bytes_that_are_not_utf8_are_replaced_and_noted():
    parser = EventParser()
    assert parser.feed(b"data: \xff\n\n") == [Event(data="\ufffd")]
    assert not parser.is_utf8


@pytest.mark.parametrize(
    ("stream", "unfinished"),
    [(b"", False), (b"data: a\n\n", False), (b": a\n", False), (b"data: a\n", True), (b"data: a", True)],
)
def test_an_unfinished_event_is_noted(stream, unfinished):
    parser = EventParser()
    parser.feed(stream)
    assert parser.is_unfinished == unfinished


@pytest.mark.parametrize("chunk", [b"x" * 64, b"data: abcdefgh\n"])
def test_a_large_event_is_an_error(chunk):
    def feed_forever():
        while True:
            parser.feed(chunk)

    parser = EventParser(max_event=1000)
    with pytest.raises(EventTooLarge, match="1000 bytes"):
        feed_forever()


def test_comments_and_events_without_end_are_no_large_event():
    parser = EventParser(max_event=1000)
    for _ in range(1000):
        parser.feed(b": still here\ndata: x\n\n: still here\n")
    assert parser.comments == 2000
