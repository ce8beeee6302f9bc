//! What the replies of a server are taken for. A reply is a line `<what it replies to><s: with a session><status>`,
//! headers, a blank line and a body.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::protocol::message::Message;
use crate::protocol::revision::{Era, Revision};
use crate::protocol::wire::http::probe::{self, Next, Probed};
use crate::protocol::wire::http::{self as wire, Sent, SessionId, Verdict};

/// The rules; other implementations are broken ones.
pub(crate) trait Rules {
    fn judge(sent: Sent, names_session: bool, status: StatusCode, headers: &HeaderMap, now: u64) -> Verdict {
        wire::judge(sent, names_session, status, headers, now)
    }

    fn read_probe(probed: Probed<'_>, requested: Revision) -> Next {
        probe::read(probed, requested)
    }
}

pub(crate) struct Ours;

impl Rules for Ours {}

pub(crate) fn run<R: Rules>(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let Some((sent, names_session, status, headers)) = read_head(head) else {
        return;
    };
    let verdict = R::judge(sent, names_session, status, &headers, NOW);
    check_verdict(&verdict, sent, names_session, status, &headers);
    assert_eq!(
        R::judge(sent, names_session, status, &loud(&headers), NOW),
        verdict,
        "neither case nor parameters matter"
    );
    if let Ok(Some(session)) = SessionId::of(&headers) {
        let value = session.header_value();
        assert!(!value.is_empty() && value.as_bytes().iter().all(|byte| (0x21..=0x7e).contains(byte)));
        assert!(value.is_sensitive());
    }
    if let Some(error) = wire::error_in(body) {
        let read = Message::parse(body);
        assert!(matches!(read, Ok(Message::Response { outcome: Err(e), .. }) if e.code == error.code));
    }
    for message in [None, Some(body)] {
        let next = R::read_probe(Probed::Reply { status, message }, REQUESTED);
        check_probe(&next, status);
    }
}

fn check_verdict(verdict: &Verdict, sent: Sent, names_session: bool, status: StatusCode, headers: &HeaderMap) {
    let is_post = matches!(sent, Sent::Request | Sent::Notification);
    let holds = match verdict {
        Verdict::Json => sent == Sent::Request && status.is_success(),
        Verdict::EventStream => !matches!(sent, Sent::Notification | Sent::Delete) && status.is_success(),
        Verdict::Accepted => {
            matches!(sent, Sent::Notification | Sent::Delete)
                && (status.is_success() || status == 405 && sent == Sent::Delete)
        }
        Verdict::ErrorBody(as_sent) => is_post && *as_sent == status && status.as_u16() >= 400,
        Verdict::SessionGone => names_session && status == 404 && sent != Sent::OptionalStream,
        Verdict::Unauthorized => status == 401,
        Verdict::Forbidden => status == 403,
        Verdict::RetryAfter(as_sent, _) => {
            *as_sent == status && matches!(status.as_u16(), 429 | 503) && headers.contains_key(header::RETRY_AFTER)
        }
        Verdict::Redirect(as_sent, target) => {
            *as_sent == status && status.is_redirection() && headers.get(header::LOCATION) == Some(target)
        }
        Verdict::NoStream(as_sent) => *as_sent == status && sent == Sent::OptionalStream,
        Verdict::NotMcp(media) => {
            matches!(sent, Sent::Request | Sent::Stream)
                && status.is_success()
                && media.as_ref().is_none_or(|media| media.is_ascii() && media.len() <= 64)
        }
        Verdict::Empty(as_sent) => {
            matches!(sent, Sent::Request | Sent::Stream) && *as_sent == status && status.is_success()
        }
        Verdict::Failed(as_sent) => *as_sent == status && !status.is_success() && !matches!(status.as_u16(), 401 | 403),
    };
    assert!(holds, "{sent:?} {names_session} {status} {headers:?}: {verdict:?}");
}

fn check_probe(next: &Next, status: StatusCode) {
    let says_nothing = matches!(status.as_u16(), 401 | 403) || status.as_u16() >= 500;
    let holds = match next {
        Next::Stateless(revision) => status.is_success() && revision.era() == Era::Stateless,
        Next::RetryWithVersion(revision) => !says_nothing && *revision != REQUESTED && revision.era() == Era::Stateless,
        Next::Initialize => !says_nothing,
        Next::Fail(_) => true,
    };
    assert!(holds, "{status}: {next:?}");
}

fn read_head(head: &str) -> Option<(Sent, bool, StatusCode, HeaderMap)> {
    let mut lines = head.lines();
    let first = lines.next()?;
    let (sent, rest) = first.split_at_checked(1)?;
    let (session, status) = rest.split_at_checked(1)?;
    let sent = match sent {
        "r" => Sent::Request,
        "n" => Sent::Notification,
        "o" => Sent::OptionalStream,
        "l" => Sent::Stream,
        "d" => Sent::Delete,
        _ => return None,
    };
    let status = StatusCode::from_u16(status.parse().ok()?).ok()?;
    let mut headers = HeaderMap::new();
    for line in lines.take(100) {
        if let Some((name, value)) = line.split_once(':')
            && let Ok(name) = HeaderName::from_bytes(name.as_bytes())
            && let Ok(value) = HeaderValue::from_str(value.trim())
        {
            headers.append(name, value);
        }
    }
    Some((sent, session == "s", status, headers))
}

/// The same media type, in capitals and with a parameter.
fn loud(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    if let Some(media) = headers.get(header::CONTENT_TYPE) {
        let media = media.as_bytes().to_ascii_uppercase();
        let media = HeaderValue::from_bytes(&[&media[..], b" ; charset=\"UTF-8\""].concat());
        headers.insert(header::CONTENT_TYPE, media.expect("upper case is as valid as lower"));
    }
    headers
}

const REQUESTED: Revision = Revision::V2026_07_28;
const NOW: u64 = 784_111_700;
