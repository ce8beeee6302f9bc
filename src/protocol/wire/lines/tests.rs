use proptest::prelude::*;

use super::*;

#[test]
fn a_line_is_what_stands_between_line_feeds() {
    assert_eq!(
        split(b"one\ntwo\r\nthree\rstill three\n", 64),
        [ok("one"), ok("two"), ok("three\rstill three")]
    );
}

#[test]
fn what_remains_at_the_end_is_a_line_and_is_reported_once() {
    let mut lines = Lines::new(64);
    lines.push(b"a\nb\nrest");
    assert_eq!(lines.pop(), Some(ok("a")));
    assert_eq!(lines.finish(), Some(ok("b")));
    assert_eq!(lines.finish(), Some(ok("rest")));
    assert_eq!(lines.finish(), None);
    assert_eq!(split(b"a\n", 64), [ok("a")]);
    assert_eq!(split(b"", 64), []);
}

#[test]
fn blank_lines_of_free_text_are_reported_but_for_what_follows_the_last_line_end() {
    let mut lines = Lines::of_free_text(10);
    lines.push(b"a\n\n \r\nb\n");
    let mut seen = Vec::new();
    while let Some(Line::Text { text, .. }) = lines.pop() {
        seen.push(text);
    }
    assert_eq!(seen, ["a", "", " ", "b"]);
    assert_eq!(lines.finish(), None);
}

#[test]
fn blank_lines_are_not_reported() {
    assert_eq!(
        split("\n\r\n \t\r\n\u{feff}\n\u{feff} \r\nx\n\n".as_bytes(), 64),
        [ok("x")]
    );
    assert_eq!(split(b"  ", 64), []);
}

#[test]
fn a_byte_order_mark_is_removed_at_a_lines_start_only() {
    let sent = "\u{feff}{}\n\u{feff}a\u{feff}b\u{feff}\n";
    assert_eq!(split(sent.as_bytes(), 64), [ok("{}"), ok("a\u{feff}b\u{feff}")]);
}

#[test]
fn text_is_decoded_per_line_and_not_per_chunk() {
    let sent = "价格 — ✅ 😀\n";
    for chunk in 1..=sent.len() {
        assert_eq!(
            split_by(sent.as_bytes(), 64, chunk),
            [ok("价格 — ✅ 😀")],
            "chunks of {chunk}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_cost_their_line_alone() {
    let lossy = Line::Text {
        text: "a\u{fffd}b".to_owned(),
        lossy: true,
    };
    assert_eq!(split(b"a\xffb\nfine\n", 64), [lossy, ok("fine")]);
}

#[test]
fn a_line_over_the_limit_is_reported_once_and_the_next_one_is_read() {
    assert_eq!(
        split(b"12345\n123456\n12345\n", 5),
        [
            ok("12345"),
            Line::TooLong {
                bytes: 6,
                answers: None
            },
            ok("12345")
        ]
    );
    let sent = [&[b'x'; 1_000][..], b"\nnext"].concat();
    for chunk in [1, 7, 1_000, 2_000] {
        assert_eq!(
            split_by(&sent, 5, chunk),
            [
                Line::TooLong {
                    bytes: 1_000,
                    answers: None
                },
                ok("next")
            ],
            "chunks of {chunk}"
        );
    }
}

#[test]
fn a_line_over_the_limit_that_never_ends_is_reported_at_the_end() {
    assert_eq!(
        split_by(&[b'x'; 100], 5, 10),
        [Line::TooLong {
            bytes: 100,
            answers: None
        }]
    );
}

#[test]
fn the_limit_measures_the_content() {
    for chunk in [1, 3, 64] {
        assert_eq!(split_by("\u{feff}12345\r\n".as_bytes(), 5, chunk), [ok("12345")]);
        assert_eq!(
            split_by("\u{feff}123456\r\n".as_bytes(), 5, chunk),
            [Line::TooLong {
                bytes: 10,
                answers: None
            }]
        );
    }
}

#[test]
fn any_limit_can_be_given() {
    assert_eq!(
        split(b"a\n\nb", 0),
        [
            Line::TooLong {
                bytes: 1,
                answers: None
            },
            Line::TooLong {
                bytes: 1,
                answers: None
            }
        ]
    );
    assert_eq!(split(b"a\nb", usize::MAX), [ok("a"), ok("b")]);
}

#[test]
fn memory_stays_within_the_limit_and_one_chunk() {
    let (limit, chunk) = (10_000, [b'x'; 1_000]);
    let bound = limit + 4 + chunk.len();
    let mut lines = Lines::new(limit);
    for round in 0..100 {
        lines.push(&chunk);
        assert!(lines.buffer.capacity() <= bound, "{}", lines.buffer.capacity());
        assert_eq!(lines.pop(), None);
        assert!(lines.buffer.len() <= limit + 4, "round {round}");
    }
    lines.push(b"\nnext\n");
    assert_eq!(
        lines.pop(),
        Some(Line::TooLong {
            bytes: 100_000,
            answers: None
        })
    );
    assert_eq!(lines.pop(), Some(ok("next")));
    assert!(lines.buffer.capacity() <= bound);
}

#[test]
fn a_long_line_leaves_no_memory_behind() {
    let mut lines = Lines::new(1 << 20);
    let sent = [b"x".repeat(500_000), b"\nshort\n".to_vec()].concat();
    for chunk in sent.chunks(4_096) {
        lines.push(chunk);
        while lines.pop().is_some() {}
    }
    assert!(lines.buffer.capacity() <= 4 * 4_096, "{}", lines.buffer.capacity());
}

// The next two take about a second. With a search or a move per byte or line of all that is buffered they would take hours.

#[test]
fn a_long_line_that_comes_byte_by_byte_takes_linear_time() {
    let length = 2 << 20;
    let mut lines = Lines::new(length);
    for _ in 0..length {
        lines.push(b"x");
        assert_eq!(lines.pop(), None);
    }
    lines.push(b"\n");
    assert!(matches!(lines.pop(), Some(Line::Text { text, lossy: false }) if text.len() == length));
}

#[test]
fn many_short_lines_in_one_chunk_take_linear_time() {
    let count = 1 << 20;
    let mut lines = Lines::new(64);
    lines.push(&b"a\n".repeat(count));
    for _ in 0..count {
        assert_eq!(lines.pop(), Some(ok("a")));
    }
    assert_eq!(lines.pop(), None);
}

proptest! {
    #[test]
    fn any_split_gives_the_lines_of_one_piece(sent in stream(), limit in 0_usize..40, cuts in prop::collection::vec(0_usize..20, 0..60)) {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        let mut rest = &sent[..];
        for cut in cuts {
            let (chunk, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            lines.push(chunk);
            found.extend(std::iter::from_fn(|| lines.pop()));
        }
        lines.push(rest);
        found.extend(std::iter::from_fn(|| lines.finish()));
        prop_assert_eq!(found, split(&sent, limit));
    }

    #[test]
    fn lines_are_those_of_a_plain_split(sent in stream(), limit in 0_usize..40) {
        prop_assert_eq!(split(&sent, limit), plainly(&sent, limit));
    }
}

/// Bytes in which what matters to framing is frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b" ".to_vec()),
        1 => Just(BYTE_ORDER_MARK.to_vec()),
        2 => Just("é✅😀".as_bytes().to_vec()),
        4 => prop::collection::vec(any::<u8>(), 0..12),
        4 => "[a-z]{0,30}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The rules once more, in the plainest form.
fn plainly(sent: &[u8], limit: usize) -> Vec<Line> {
    sent.split(|byte| *byte == b'\n')
        .filter_map(|raw| {
            let content = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            if content.len() > limit {
                return Some(Line::TooLong {
                    bytes: raw.len() as u64,
                    answers: None,
                });
            }
            let text = String::from_utf8_lossy(content).into_owned();
            let lossy = text.as_bytes() != content;
            (!content.trim_ascii().is_empty()).then_some(Line::Text { text, lossy })
        })
        .collect()
}

fn split(sent: &[u8], limit: usize) -> Vec<Line> {
    split_by(sent, limit, sent.len().max(1))
}

fn split_by(sent: &[u8], limit: usize, chunk: usize) -> Vec<Line> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for chunk in sent.chunks(chunk) {
        lines.push(chunk);
        found.extend(std::iter::from_fn(|| lines.pop()));
    }
    found.extend(std::iter::from_fn(|| lines.finish()));
    found
}

fn ok(text: &str) -> Line {
    Line::Text {
        text: text.to_owned(),
        lossy: false,
    }
}
