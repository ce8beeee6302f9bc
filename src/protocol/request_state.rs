//! The state of a request that is asked questions in several rounds (protocol, 7.17): the client carries it, so that no
//! server has to remember anything. It is sealed, not hidden: what the client answered is there to be read, and changing
//! it is found out. It is good for one caller, one request and some time. Who asks what is not decided here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::json::{self, canonical};
use crate::limits;

/// What seals. It shows itself to nobody: no `Debug`, and no way back to the bytes.
#[derive(Clone)]
pub(crate) struct Secret(Hmac<Sha256>);

impl Secret {
    /// # Errors
    /// `invalid-option`, when it is too short.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self> {
        let least = limits::MIN_REQUEST_STATE_SECRET_BYTES;
        if bytes.len() < least {
            return Err(Error::invalid_option(format!(
                "requestStateSecret must have at least {least} bytes"
            )));
        }
        let keyed = Hmac::new_from_slice(bytes)
            .map_err(|_| Error::invalid_option("requestStateSecret is not a key for HMAC-SHA256"))?;
        Ok(Self(keyed))
    }

    /// The context keeps a seal apart from whatever else a host does with the same secret.
    pub(crate) fn over(&self, context: &[u8], payload: &[u8]) -> Hmac<Sha256> {
        self.0.clone().chain_update(context).chain_update(payload)
    }
}

const CONTEXT: &[u8] = b"espalier requestState 1\0";

/// What a client carries from one round to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestState {
    /// The answers of all rounds until now: JSON text of an object, results by key.
    pub(crate) answers: String,
    /// What was asked in the round that is open. Answers to anything else are not looked at.
    pub(crate) asked: Vec<Asked>,
    /// When it stops being good, in seconds since 1970.
    pub(crate) expires: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) key: String,
    pub(crate) method: String,
}

/// The request that a state belongs to. Two requests are the same when all of it is; arguments are compared as JSON.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// Whoever asks: tenant and verified identity, in some fixed text.
    pub(crate) caller: &'a str,
    pub(crate) method: &'a str,
    /// The tool, prompt or resource.
    pub(crate) name: &'a str,
    /// JSON text.
    pub(crate) arguments: Option<&'a str>,
}

/// Why a state is not taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// Not sealed with this secret, or changed since.
    Altered,
    Expired,
    /// Sealed for another caller or another request.
    Foreign,
}

impl Unsealed {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Altered => "requestState is none that this server gave out",
            Self::Expired => "requestState has expired",
            Self::Foreign => "requestState belongs to another request",
        }
    }
}

/// How it is written. The answers stay the text they are.
#[derive(Serialize, Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    answers: &'a RawValue,
    asked: Vec<Asked>,
    bound: String,
    expires: u64,
}

impl RequestState {
    /// The text that the client is given; nothing when the answers are no JSON object, or when it would be too long to be
    /// taken back.
    pub(crate) fn seal(&self, secret: &Secret, origin: Origin<'_>) -> Option<String> {
        let answers: &RawValue = json::parse(&self.answers)?;
        if !answers.get().starts_with('{') {
            return None;
        }
        let payload = serde_json::to_vec(&Payload {
            answers,
            asked: self.asked.clone(),
            bound: origin.digest(),
            expires: self.expires,
        })
        .ok()?;
        let mut sealed = secret.over(CONTEXT, &payload).finalize().into_bytes().to_vec();
        sealed.extend_from_slice(&payload);
        let text = URL_SAFE_NO_PAD.encode(sealed);
        (text.len() <= limits::MAX_REQUEST_STATE_BYTES).then_some(text)
    }

    /// Takes a text up that a client brought back. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// When it is not what this server gave to this caller for this request, or too old.
    pub(crate) fn open(text: &str, secret: &Secret, origin: Origin<'_>, now: u64) -> Result<Self, Unsealed> {
        if text.len() > limits::MAX_REQUEST_STATE_BYTES {
            return Err(Unsealed::Altered);
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).map_err(|_| Unsealed::Altered)?;
        let (seal, payload) = sealed
            .split_at_checked(Sha256::output_size())
            .ok_or(Unsealed::Altered)?;
        // In constant time. Nothing of the payload is believed, or even read, before.
        secret
            .over(CONTEXT, payload)
            .verify_slice(seal)
            .map_err(|_| Unsealed::Altered)?;
        let payload: Payload<'_> = serde_json::from_slice(payload).map_err(|_| Unsealed::Altered)?;
        if payload.bound != origin.digest() {
            return Err(Unsealed::Foreign);
        }
        if now >= payload.expires {
            return Err(Unsealed::Expired);
        }
        Ok(Self {
            answers: payload.answers.get().to_owned(),
            asked: payload.asked,
            expires: payload.expires,
        })
    }
}

impl Origin<'_> {
    /// Each part with its length before it, so that no two requests are the same text.
    fn digest(self) -> String {
        let mut digest = Sha256::new();
        let mut part = |text: &str| {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        };
        part(self.caller);
        part(self.method);
        part(self.name);
        if let Some(arguments) = self.arguments {
            let mut canonical = String::with_capacity(arguments.len());
            match canonical::write_canonical(arguments, &mut canonical) {
                Some(()) => part(&canonical),
                None => part(arguments),
            }
        }
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorCode;

    const ORIGIN: Origin<'_> = Origin {
        caller: "{\"tenantId\":\"acme\"}",
        method: "tools/call",
        name: "book",
        arguments: Some(r#"{"port":"Brest","n":1}"#),
    };

    #[test]
    fn what_was_sealed_comes_back_as_it_was() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        );
        assert_eq!(RequestState::open(&text, &secret(1), ORIGIN, 99), Ok(state()));
    }

    #[test]
    fn it_is_good_until_it_expires_and_not_a_second_longer() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        assert!(RequestState::open(&text, &secret(1), ORIGIN, 99).is_ok());
        assert_eq!(
            RequestState::open(&text, &secret(1), ORIGIN, 100),
            Err(Unsealed::Expired)
        );
    }

    #[test]
    fn another_caller_or_request_cannot_use_it() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        for other in [
            Origin {
                caller: "{\"tenantId\":\"globex\"}",
                ..ORIGIN
            },
            Origin {
                method: "prompts/get",
                ..ORIGIN
            },
            Origin {
                name: "cancel",
                ..ORIGIN
            },
            Origin {
                arguments: Some(r#"{"port":"Brest","n":2}"#),
                ..ORIGIN
            },
            Origin {
                arguments: None,
                ..ORIGIN
            },
            // The same letters, divided in another way.
            Origin {
                method: "tools/callb",
                name: "ook",
                ..ORIGIN
            },
        ] {
            assert_eq!(
                RequestState::open(&text, &secret(1), other, 0),
                Err(Unsealed::Foreign),
                "{} {} {} {:?}",
                other.caller,
                other.method,
                other.name,
                other.arguments
            );
        }
    }

    #[test]
    fn arguments_in_another_spelling_are_the_same_request() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        let respelt = Origin {
            arguments: Some("{ \"n\": 1.0, \"port\": \"\\u0042rest\" }"),
            ..ORIGIN
        };
        assert!(RequestState::open(&text, &secret(1), respelt, 0).is_ok());
    }

    #[test]
    fn another_secret_does_not_open_it() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        assert_eq!(RequestState::open(&text, &secret(2), ORIGIN, 0), Err(Unsealed::Altered));
    }

    #[test]
    fn each_changed_character_is_found_out() {
        let text = state().seal(&secret(1), ORIGIN).unwrap();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(
                RequestState::open(&changed, &secret(1), ORIGIN, 0),
                Err(Unsealed::Altered),
                "{at}"
            );
        }
    }

    #[test]
    fn what_is_no_state_at_all_is_altered() {
        let sealed = state().seal(&secret(1), ORIGIN).unwrap();
        let long = "A".repeat(limits::MAX_REQUEST_STATE_BYTES + 4);
        for text in [
            "",
            "A",
            "AA==",
            "é",
            "v1.x.y",
            &sealed[..42],
            &format!("{sealed}="),
            &format!("{sealed}A"),
            &long,
        ] {
            assert_eq!(
                RequestState::open(text, &secret(1), ORIGIN, 0),
                Err(Unsealed::Altered),
                "{}",
                json::quote_short(text)
            );
        }
    }

    #[test]
    fn what_could_not_be_taken_back_is_not_given_out() {
        let mut state = state();
        state.answers = format!("{{\"k\":\"{}\"}}", "x".repeat(limits::MAX_REQUEST_STATE_BYTES));
        assert_eq!(state.seal(&secret(1), ORIGIN), None);
        for answers in ["", "[]", "{", "null", "{} {}"] {
            answers.clone_into(&mut state.answers);
            assert_eq!(state.seal(&secret(1), ORIGIN), None, "{answers}");
        }
    }

    #[test]
    fn a_short_secret_is_refused_and_not_repeated() {
        let error = Secret::new(&[b'k'; 31]).err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        assert_eq!(error.message(), "requestStateSecret must have at least 32 bytes");
        assert!(Secret::new(&[0; 32]).is_ok());
        assert!(Secret::new(&[0; 1_000]).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_opens_but_one_that_was_sealed(text in "[A-Za-z0-9_-]{0,120}|.{0,40}") {
            prop_assert_eq!(RequestState::open(&text, &secret(1), ORIGIN, 0), Err(Unsealed::Altered));
        }

        #[test]
        fn any_state_comes_back(key in ".{0,20}", method in ".{0,20}", answer in ".{0,20}", expires: u64) {
            let state = RequestState {
                answers: format!("{{{}:{}}}", json::quote(&key), json::quote(&answer)),
                asked: vec![Asked { key, method }],
                expires,
            };
            let text = state.seal(&secret(3), ORIGIN).unwrap();
            let opened = RequestState::open(&text, &secret(3), ORIGIN, expires.saturating_sub(1));
            prop_assert_eq!(opened, if expires == 0 { Err(Unsealed::Expired) } else { Ok(state) });
        }
    }

    fn secret(byte: u8) -> Secret {
        Secret::new(&[byte; 32]).unwrap()
    }

    fn state() -> RequestState {
        RequestState {
            answers: r#"{"berth":{"action":"accept","content":{"berth":12}}}"#.to_owned(),
            asked: vec![Asked {
                key: "elicitation/create#2".to_owned(),
                method: "elicitation/create".to_owned(),
            }],
            expires: 100,
        }
    }
}
