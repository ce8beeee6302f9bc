//! What a client carries and brings back: a state that was sealed opens as it was and in no other way, and no text that
//! nobody sealed or signed is taken up. A key of one answer, a blank line, and what a client makes up.

use std::sync::OnceLock;

use crate::guard::jwt::{Expected, Keys, verify};
use crate::json;
use crate::protocol::request_state::{Asked, Origin, RequestState, Secret, Unsealed};

/// What stands for `RequestState::open`.
pub(crate) type Open = fn(&str, &Secret, Origin<'_>, u64) -> Result<RequestState, Unsealed>;

const EXPIRES: u64 = 100;

pub(crate) fn run(data: &[u8], open: Open) {
    let text = String::from_utf8_lossy(data);
    let (key, made_up) = text.split_once("\n\n").unwrap_or((&text, ""));
    let secret = Secret::new(&[7; 32]).expect("it is long enough");
    let origin = Origin {
        caller: "caller",
        method: "tools/call",
        name: key,
        arguments: Some(made_up),
    };
    assert!(open(made_up, &secret, origin, 0).is_err(), "{made_up:?}");
    let state = RequestState {
        answers: format!("{{{}:{}}}", json::quote(key), json::quote(made_up)),
        asked: vec![Asked {
            key: key.to_owned(),
            method: made_up.to_owned(),
        }],
        expires: EXPIRES,
    };
    if let Some(sealed) = state.seal(&secret, origin) {
        assert_eq!(open(&sealed, &secret, origin, EXPIRES - 1), Ok(state));
        assert_eq!(open(&sealed, &secret, origin, EXPIRES), Err(Unsealed::Expired));
        let other = Origin {
            caller: "another",
            ..origin
        };
        assert_eq!(open(&sealed, &secret, other, 0), Err(Unsealed::Foreign));
        // One character that is another one, at a place that the data choose.
        let at = data.iter().map(|byte| usize::from(*byte)).sum::<usize>() % sealed.len();
        let (before, rest) = sealed.split_at(at);
        let (old, after) = rest.split_at(1);
        let new = if old == "A" { "B" } else { "A" };
        for altered in [format!("{before}{new}{after}"), format!("{before}{after}")] {
            assert_eq!(open(&altered, &secret, origin, 0), Err(Unsealed::Altered), "{altered}");
        }
    }
    is_no_token(made_up);
}

/// Nobody has the other half of the key.
fn is_no_token(text: &str) {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    let keys = KEYS.get_or_init(|| Keys::parse(JWKS).expect("it is a set of keys"));
    let expected = Expected {
        issuer: "https://id.example".to_owned(),
        audiences: vec!["https://mcp.example".to_owned()],
    };
    assert!(verify(text, keys, &expected, 0).is_err(), "{text}");
    assert!(Keys::parse(text).is_err() || text.contains("\"keys\""), "{text}");
}

/// The key of RFC 8037, appendix A.2.
const JWKS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
