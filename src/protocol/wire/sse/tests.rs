use proptest::prelude::*;

use super::*;

#[test]
fn the_examples_of_the_standard_give_its_events() {
    assert_eq!(decode("data: YHOO\ndata: +2\ndata: 10\n\n"), [message("YHOO\n+2\n10")]);
    assert_eq!(
        decode(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event"),
        [id("1"), message("first event"), id(""), message("second event")]
    );
    assert_eq!(decode("data\n\ndata\ndata\n\ndata:"), [SseItem::Empty, message("\n")]);
    assert_eq!(
        decode("data:test\n\ndata: test\n\n"),
        [message("test"), message("test")]
    );
    assert_eq!(
        decode("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n"),
        [typed("add", "73857293"), typed("remove", "2153")]
    );
}

#[test]
fn each_kind_of_line_end_counts_once_wherever_the_stream_is_cut() {
    for end in ["\n", "\r", "\r\n"] {
        let sent = ["data: a", "data: b", "", "", "data: c", "", ""].join(end);
        for chunk in 1..=sent.len() {
            assert_eq!(
                decode_by(sent.as_bytes(), usize::MAX, chunk),
                [message("a\nb"), message("c")],
                "{sent:?} in chunks of {chunk}"
            );
        }
    }
}

#[test]
fn an_event_that_ends_with_a_carriage_return_is_there_at_once() {
    let mut decoder = SseDecoder::new(64);
    decoder.push(b"data: a\r\r");
    assert_eq!(decoder.pop(), Some(message("a")));
    decoder.push(b"\ndata: b\r\n\r");
    assert_eq!(decoder.pop(), Some(message("b")));
    decoder.push(b"\n\n");
    assert_eq!(decoder.pop(), None);
}

#[test]
fn one_byte_order_mark_is_removed_at_the_start_of_the_stream_only() {
    for chunk in 1..8 {
        let sent = "\u{feff}data: a\u{feff}\n\n\u{feff}data: b\n\n".as_bytes();
        assert_eq!(decode_by(sent, 64, chunk), [message("a\u{feff}")]);
        assert_eq!(decode_by("\u{feff}\u{feff}data: a\n\n".as_bytes(), 64, chunk), []);
        assert_eq!(decode_by(b"\xef\xbbdata: a\n\ndata: b\n\n", 64, chunk), [message("b")]);
        assert_eq!(decode_by(b"\xef\r\rdata: b\n\n", 64, chunk), [message("b")]);
    }
}

#[test]
fn an_event_or_a_line_without_end_is_over_the_limit_before_it_ends() {
    for begun in [
        "data: ",
        "",
        "id: ",
        "event: ",
        "retry: ",
        ": ",
        "unknown: ",
        "data: a\ndata: ",
    ] {
        let mut decoder = SseDecoder::new(1000);
        decoder.push(begun.as_bytes());
        assert_eq!(decoder.pop(), None);
        assert_eq!(decoder.overflow(), None, "{begun:?}");
        for _ in 0..3 {
            decoder.push(&[b'a'; 400]);
            assert_eq!(decoder.pop(), None);
        }
        assert!(decoder.overflow().is_some_and(|bytes| bytes > 1000), "{begun:?}");
    }
}

#[test]
fn what_ends_is_not_over_the_limit_however_much_there_is_of_it() {
    let mut decoder = SseDecoder::new(1000);
    for _ in 0..10_000 {
        decoder.push(b": a comment\r\n\r\nid: 1\n");
        assert_eq!(decoder.overflow(), None);
        while decoder.pop().is_some() {}
    }
    assert_eq!(decoder.overflow(), None);
}

#[test]
fn text_is_decoded_across_chunks_and_other_bytes_are_replaced() {
    let sent = "data: 价格 — ✅ 😀\n\n".as_bytes();
    for chunk in 1..=sent.len() {
        assert_eq!(decode_by(sent, 64, chunk), [message("价格 — ✅ 😀")]);
    }
    let broken = b"event: \xff\ndata: a\xf0\x9f\ndata: \xffb\nid: \xfe\n\n";
    for chunk in 1..=broken.len() {
        assert_eq!(
            decode_by(broken, 64, chunk),
            [id("\u{fffd}"), typed("\u{fffd}", "a\u{fffd}\n\u{fffd}b")]
        );
    }
}

#[test]
fn comments_and_unknown_fields_say_nothing() {
    assert_eq!(
        decode(": hi\n\n:\n\ndatas: x\ndat: x\nDATA: x\n data: x\n\nbecause of: x\nretry\nevent\n\n"),
        []
    );
    assert_eq!(decode("data: a\n: between\nid2: x\ndata: b\n\n"), [message("a\nb")]);
}

#[test]
fn one_space_after_the_colon_is_no_part_of_the_value() {
    assert_eq!(decode("data:  a:b \n\n"), [message(" a:b ")]);
    assert_eq!(decode("data: \ndata: \n\n"), [message("\n")]);
}

#[test]
fn an_event_without_a_type_is_a_message_and_the_last_type_counts() {
    assert_eq!(decode("event: message\ndata: a\n\n"), [message("a")]);
    assert_eq!(decode("event: x\nevent\ndata: a\n\n"), [message("a")]);
    assert_eq!(decode("data: a\nevent: x\nevent: y\n\n"), [typed("y", "a")]);
    assert_eq!(decode("event: x\n\ndata: a\n\n"), [message("a")]);
}

#[test]
fn an_id_counts_from_the_end_of_its_event_on() {
    assert_eq!(decode("id: 1\ndata: a\n"), []);
    assert_eq!(
        decode("data: a\nid: 1\nid: 2\n\ndata: b\n\n"),
        [id("2"), message("a"), message("b")]
    );
    assert_eq!(decode("id: 1\n\nid\n\n"), [id("1"), id("")]);
    assert_eq!(decode("id: 1\nid: a\0b\n\nid:\0\n\n"), [id("1")]);
}

#[test]
fn a_priming_event_has_an_id_and_nothing_to_read() {
    assert_eq!(
        decode("id: s4-0\nretry: 1500\ndata:\n\n"),
        [SseItem::Retry(1_500), id("s4-0"), SseItem::Empty]
    );
    assert_eq!(decode("id: s4-0\n\n"), [id("s4-0")]);
}

#[test]
fn a_time_to_reconnect_is_digits_alone_and_counts_at_once() {
    assert_eq!(
        decode("retry: 10\nretry:007\n"),
        [SseItem::Retry(10), SseItem::Retry(7)]
    );
    assert_eq!(
        decode("retry: 1.5\nretry: -1\nretry: +1\nretry:  1\nretry: 1 \nretry: ٣\nretry:\nretry: 0x1\n"),
        []
    );
    assert_eq!(
        decode("retry: 99999999999999999999999999\n"),
        [SseItem::Retry(u64::MAX)]
    );
}

#[test]
fn an_event_over_the_limit_is_reported_at_its_end_and_the_next_one_is_read() {
    let sent = "data: 1234\ndata: 5\n\ndata: 12\ndata: 34567\nid: 3\n\nevent: x\ndata: 123456\n\n";
    for chunk in 1..=sent.len() {
        assert_eq!(
            decode_by(sent.as_bytes(), 6, chunk),
            [message("1234\n5"), id("3"), too_long(8, None), typed("x", "123456")],
            "chunks of {chunk}"
        );
    }
}

#[test]
fn an_event_over_the_limit_says_which_request_it_answers() {
    let answer = "data: {\"result\":{\"id\":1,\ndata: \"text\":\"xxxx\"},\ndata: \"id\":7}\n\n";
    for chunk in 1..=answer.len() {
        assert_eq!(
            decode_by(answer.as_bytes(), 8, chunk),
            [too_long(42, Some(7))],
            "chunks of {chunk}"
        );
    }
    // What is no message answers nothing.
    let other = format!("event: other\n{answer}");
    assert_eq!(decode_by(other.as_bytes(), 8, 3), [too_long(42, None)]);
}

#[test]
fn comments_of_any_length_are_within_the_limit() {
    let sent = [&b":"[..], &[b'x'; 1_000], b"\ndata: a\n\n"].concat();
    assert_eq!(decode_by(&sent, 1, 7), [message("a")]);
}

#[test]
fn any_limit_can_be_given() {
    assert_eq!(
        decode_by(b"data: a\n\ndata\n\ndata\ndata\n\n", 0, 1),
        [too_long(1, None), SseItem::Empty, too_long(1, None)]
    );
}

#[test]
fn an_id_that_is_too_long_counts_for_nothing() {
    let longest = "x".repeat(MAX_EVENT_FIELD_BYTES);
    let sent = format!("id: {longest}\n\nid: {longest}x\ndata: a\n\n");
    assert_eq!(decode(&sent), [id(&longest), message("a")]);
    let sent = format!("event: {longest}x\ndata: a\n\n");
    assert_eq!(decode(&sent), [typed(&longest, "a")]);
}

#[test]
fn memory_stays_within_the_limit_and_one_chunk() {
    let (limit, chunk) = (10_000, [b'x'; 1_000]);
    let mut decoder = SseDecoder::new(limit);
    decoder.push(b"data:");
    for _ in 0..100 {
        decoder.push(&chunk);
        assert_eq!(decoder.pop(), None);
        let data = decoder.event.data.as_ref().map_or(0, Vec::capacity);
        assert!(data <= limit && decoder.input.capacity() <= 2 * chunk.len());
    }
    decoder.push(b"\n\ndata: next\n\n");
    assert_eq!(decoder.pop(), Some(too_long(100_000, None)));
    assert_eq!(decoder.pop(), Some(message("next")));
}

// The next two take about a second. With a search or a move per byte or line of all that is buffered they would take hours.

#[test]
fn a_long_event_that_comes_byte_by_byte_takes_linear_time() {
    let length = 1 << 20;
    let mut decoder = SseDecoder::new(length);
    decoder.push(b"data:");
    for _ in 0..length {
        decoder.push(b"x");
        assert_eq!(decoder.pop(), None);
    }
    decoder.push(b"\n\n");
    assert!(matches!(decoder.pop(), Some(SseItem::Event { event: None, data }) if data.len() == length));
}

#[test]
fn many_short_lines_in_one_chunk_take_linear_time() {
    let count = 1 << 18;
    let mut decoder = SseDecoder::new(usize::MAX);
    decoder.push(&b"data\n".repeat(count));
    decoder.push(b"\n");
    decoder.push(&b"data:a\n\n".repeat(count));
    assert!(matches!(decoder.pop(), Some(SseItem::Event { data, .. }) if data.len() == count - 1));
    for _ in 0..count {
        assert_eq!(decoder.pop(), Some(message("a")));
    }
    assert_eq!(decoder.pop(), None);
}

proptest! {
    #[test]
    fn any_split_gives_the_events_of_one_piece(sent in stream(), limit in 0_usize..40, cuts in prop::collection::vec(0_usize..20, 0..60)) {
        let mut decoder = SseDecoder::new(limit);
        let mut found = Vec::new();
        let mut rest = &sent[..];
        for cut in cuts {
            let (chunk, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            decoder.push(chunk);
            found.extend(std::iter::from_fn(|| decoder.pop()));
        }
        decoder.push(rest);
        found.extend(std::iter::from_fn(|| decoder.pop()));
        prop_assert_eq!(found, decode_by(&sent, limit, usize::MAX));
    }

    #[test]
    fn what_is_written_by_the_rules_is_read_back(events in prop::collection::vec((prop::option::of("[a-z]{1,9}"), "[^\r]{1,30}"), 0..9), end in "\n|\r|\r\n") {
        let mut sent = String::new();
        for (event, data) in &events {
            let event = event.as_ref().map(|event| format!("event: {event}{end}"));
            let data = data.split('\n').map(|line| format!("data: {line}{end}"));
            sent.extend(event.into_iter().chain(data).chain([end.clone()]));
        }
        let expected: Vec<_> = events
            .into_iter()
            .map(|(event, data)| SseItem::Event { event: event.filter(|event| event != "message"), data })
            .collect();
        prop_assert_eq!(decode(&sent), expected);
    }
}

/// Bytes in which what matters to framing is frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        6 => "(data|event|id|retry)(: ?)?".prop_map(String::into_bytes),
        1 => Just(BYTE_ORDER_MARK.to_vec()),
        2 => Just("é✅😀".as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..12),
        2 => "[a-z0-9]{0,30}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn decode(sent: &str) -> Vec<SseItem> {
    let whole = decode_by(sent.as_bytes(), usize::MAX, usize::MAX);
    assert_eq!(decode_by(sent.as_bytes(), usize::MAX, 1), whole, "byte by byte");
    whole
}

fn decode_by(sent: &[u8], limit: usize, chunk: usize) -> Vec<SseItem> {
    let mut decoder = SseDecoder::new(limit);
    let mut found = Vec::new();
    for chunk in sent.chunks(chunk) {
        decoder.push(chunk);
        found.extend(std::iter::from_fn(|| decoder.pop()));
    }
    found
}

fn message(data: &str) -> SseItem {
    SseItem::Event {
        event: None,
        data: data.to_owned(),
    }
}

fn typed(event: &str, data: &str) -> SseItem {
    SseItem::Event {
        event: Some(event.to_owned()),
        data: data.to_owned(),
    }
}

fn id(id: &str) -> SseItem {
    SseItem::Id(id.to_owned())
}

fn too_long(bytes: u64, answers: Option<u64>) -> SseItem {
    SseItem::TooLong { bytes, answers }
}
