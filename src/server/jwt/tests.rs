use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};

use super::*;
use crate::host::http::{Exchange, HttpResponse};
use crate::transport::clock::SystemClock;

/// What the authorization server does.
#[derive(Clone)]
enum Act {
    Send(u16, String),
    Hang,
    HangInBody,
    Fail,
}

struct Published {
    act: Mutex<Act>,
    asked: AtomicUsize,
}

impl Published {
    fn new(act: Act) -> Arc<Self> {
        Arc::new(Self {
            act: Mutex::new(act),
            asked: AtomicUsize::new(0),
        })
    }

    fn does(&self, act: Act) {
        *self.act.lock().unwrap() = act;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn verifier(self: &Arc<Self>) -> JwtVerifier {
        let client: Arc<dyn HttpClient> = Arc::clone(self) as _;
        JwtVerifier::parse(
            &options("https://id.example/keys").to_string(),
            &|| Ok(Arc::clone(&client)),
            Arc::new(SystemClock),
        )
        .unwrap()
    }
}

impl HttpClient for Published {
    fn send(&self, request: HttpRequest) -> Exchange {
        assert_eq!(request.url.as_str(), "https://id.example/keys");
        self.asked.fetch_add(1, Ordering::SeqCst);
        let act = self.act.lock().unwrap().clone();
        Box::pin(async move {
            // Others get to ask meanwhile.
            tokio::task::yield_now().await;
            let (status, body): (_, Body) = match act {
                Act::Send(status, text) => {
                    let pieces: Vec<Bytes> = text.into_bytes().chunks(100_000).map(Bytes::copy_from_slice).collect();
                    (status, Box::pin(stream::iter(pieces.into_iter().map(Ok))))
                }
                Act::HangInBody => (200, Box::pin(stream::pending())),
                Act::Hang => pending().await,
                Act::Fail => return Err(Error::new(ErrorCode::ConnectionLost, "could not connect to id.example")),
            };
            Ok(HttpResponse {
                status: StatusCode::from_u16(status).unwrap(),
                headers: HeaderMap::new(),
                body,
            })
        })
    }
}

fn vector(name: &str) -> String {
    let vectors: Value = serde_json::from_str(include_str!("../../../__test__/vectors/rsa-tokens.json")).unwrap();
    vectors[name].as_str().unwrap().to_owned()
}

/// A set with the key of the vectors, under that name.
fn keys(name: &str) -> String {
    json!({ "keys": [{ "kty": "RSA", "kid": name, "e": "AQAB", "n": vector("modulus") }] }).to_string()
}

fn published(name: &str) -> Act {
    Act::Send(200, keys(name))
}

fn options(jwks: impl Into<Value>) -> Value {
    let jwks: Value = jwks.into();
    json!({ "issuer": "https://id.example", "audience": "https://mcp.example/mcp", "jwks": jwks })
}

fn parse(options: &Value) -> Result<JwtVerifier> {
    let client: Arc<dyn HttpClient> = Published::new(Act::Hang);
    JwtVerifier::parse(&options.to_string(), &|| Ok(Arc::clone(&client)), Arc::new(SystemClock))
}

async fn is_good(verifier: &JwtVerifier) -> bool {
    verifier.verify(&vector("RS256")).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_together_shares_one_fetch_and_later_ones_need_none() {
    let server = Published::new(published("rsa"));
    let verifier = server.verifier();
    let all = futures_util::future::join_all((0..100).map(|_| is_good(&verifier))).await;
    assert_eq!((all.iter().all(|good| *good), server.asked()), (true, 1));
    assert!(is_good(&verifier).await);
    assert_eq!(server.asked(), 1);
    tokio::time::advance(limits::JWKS_FRESH).await;
    assert!(is_good(&verifier).await);
    assert_eq!(server.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_looked_for_once_in_a_while() {
    let server = Published::new(published("older"));
    let verifier = server.verifier();
    for _ in 0..10 {
        assert!(!is_good(&verifier).await);
    }
    assert_eq!(server.asked(), 1);
    server.does(published("rsa"));
    tokio::time::advance(limits::JWKS_PAUSE / 2).await;
    assert!(!is_good(&verifier).await);
    tokio::time::advance(limits::JWKS_PAUSE / 2).await;
    assert!(is_good(&verifier).await);
    assert_eq!(server.asked(), 2);
    // A signature that is wrong is no reason to ask.
    tokio::time::advance(limits::JWKS_PAUSE).await;
    let forged = vector("RS256").replace(".ey", ".eY");
    assert_eq!(verifier.verify(&forged).await.unwrap(), None);
    assert_eq!(server.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_is_told_and_tried_again_after_a_pause() {
    let server = Published::new(Act::Fail);
    let verifier = server.verifier();
    for _ in 0..5 {
        let error = verifier.verify(&vector("RS256")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConnectionLost);
        assert_eq!(
            error.message(),
            "the keys for tokens cannot be fetched: could not connect to id.example"
        );
    }
    assert_eq!(server.asked(), 1);
    server.does(published("rsa"));
    tokio::time::advance(limits::JWKS_RETRY).await;
    assert!(is_good(&verifier).await);
}

#[tokio::test(start_paused = true)]
async fn old_keys_are_used_for_some_time_when_there_are_no_others() {
    let server = Published::new(published("rsa"));
    let verifier = server.verifier();
    assert!(is_good(&verifier).await);
    server.does(Act::Fail);
    tokio::time::advance(limits::JWKS_LONGEST / 2).await;
    assert!(is_good(&verifier).await);
    assert!(is_good(&verifier).await);
    assert_eq!(server.asked(), 2);
    tokio::time::advance(limits::JWKS_LONGEST / 2).await;
    let error = verifier.verify(&vector("RS256")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConnectionLost);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_keys_for_ever() {
    for act in [Act::Hang, Act::HangInBody] {
        let verifier = Published::new(act).verifier();
        let began = tokio::time::Instant::now();
        let error = verifier.verify(&vector("RS256")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Timeout);
        assert!(error.message().contains("id.example"), "{error}");
        assert!(began.elapsed() <= limits::JWKS_TIMEOUT + Duration::from_millis(10));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_set_of_keys_is_named() {
    let filled = format!("{}{}", keys("rsa"), " ".repeat(limits::MAX_JWKS_BYTES));
    for (status, text, said) in [
        (404, keys("rsa"), "id.example answered with HTTP 404"),
        (302, keys("rsa"), "id.example answered with HTTP 302"),
        (200, filled, "id.example sent more than 524288 bytes"),
        (
            200,
            "<html>".to_owned(),
            "id.example did not send a JWK set: an object with an array `keys`",
        ),
    ] {
        let verifier = Published::new(Act::Send(status, text)).verifier();
        let error = verifier.verify(&vector("RS256")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidResponse);
        assert_eq!(
            error.message(),
            format!("the keys for tokens cannot be fetched: {said}")
        );
    }
}

#[tokio::test]
async fn given_keys_need_no_fetch() {
    let set: Value = serde_json::from_str(&keys("rsa")).unwrap();
    assert!(is_good(&parse(&options(set)).unwrap()).await);
    let set: Value = serde_json::from_str(&keys("other")).unwrap();
    assert!(!is_good(&parse(&options(set)).unwrap()).await);
}

#[test]
fn wrong_options_are_named() {
    let secret = json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] });
    for (name, value, said) in [
        ("issuer", json!(null), "issuer must"),
        ("issuer", json!(""), "issuer must"),
        ("issuer", json!(["a"]), "issuer must"),
        ("audience", json!(null), "audience must"),
        ("audience", json!(""), "audience must"),
        ("audience", json!([]), "audience must"),
        ("audience", json!(["a", ""]), "audience must"),
        ("audience", json!(["a", 1]), "audience must"),
        ("jwks", json!(null), "jwks must"),
        ("jwks", json!(7), "jwks must"),
        ("jwks", json!({}), "jwks must"),
        ("jwks", secret, "jwks must"),
        ("jwks", json!("id.example/keys"), "jwks must"),
        ("jwks", json!("http://id.example/keys"), "jwks must"),
        ("jwks", json!("http://localhost.example/keys"), "jwks must"),
        ("jwks", json!("file:///etc/keys"), "jwks must"),
        ("jwks", json!("https://me:secret@id.example/keys"), "jwks must"),
        ("algorithms", json!(["none"]), "there is no option \"algorithms\""),
    ] {
        let mut options = options("https://id.example/keys");
        options[name] = value;
        let error = parse(&options).err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        assert!(error.message().starts_with(said), "{options}: {error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
    for url in [
        "http://localhost:1/keys",
        "http://127.0.0.1:1/",
        "http://[::1]:1/",
        "https://id.example",
    ] {
        assert!(parse(&options(url)).is_ok(), "{url}");
    }
    assert!(parse(&json!([])).is_err());
}
