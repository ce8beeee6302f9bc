//! Verifying tokens of an authorization server with the keys that it publishes. Owns how long keys are used and when they
//! are fetched; what makes a token good is decided in `guard::jwt`.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::StreamExt as _;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::error::{Error, ErrorCode, Result};
use crate::guard::jwt::{self, Expected, Keys, Refusal};
use crate::host::Clock;
use crate::host::http::{Body, HttpClient, HttpRequest};
use crate::json::{self, Object};
use crate::limits;

pub(crate) struct JwtVerifier {
    expected: Expected,
    keys: Source,
    clock: Arc<dyn Clock>,
}

enum Source {
    Given(Arc<Keys>),
    Fetched(Box<KeyCache>),
}

/// Makes the HTTP stack, where one is needed.
pub(crate) type Connect<'a> = &'a dyn Fn() -> Result<Arc<dyn HttpClient>>;

impl JwtVerifier {
    /// Reads the options, JSON text.
    ///
    /// # Errors
    /// `invalid-option`, naming the option.
    pub(crate) fn parse(text: &str, connect: Connect<'_>, clock: Arc<dyn Clock>) -> Result<Self> {
        let options = Object::parse(text).ok_or_else(|| Error::invalid_option("the options are not an object"))?;
        if let Some((name, _)) = options
            .members()
            .find(|(name, _)| !["issuer", "audience", "jwks"].contains(name))
        {
            let name = json::quote_short(name);
            return Err(Error::invalid_option(format!("there is no option {name}")));
        }
        let issuer = options
            .string("issuer")
            .filter(|issuer| !issuer.is_empty())
            .ok_or_else(|| Error::invalid_option("issuer must be a string that is not empty"))?
            .into_owned();
        let audiences = audiences(&options)
            .ok_or_else(|| Error::invalid_option("audience must be a string, or an array of strings, none empty"))?;
        let jwks = options
            .present("jwks")
            .ok_or_else(|| Error::invalid_option("jwks must be a URL or a JWK set"))?;
        let keys = if let Some(url) = json::string(jwks.get()) {
            let url = key_url(&url)?;
            Source::Fetched(Box::new(KeyCache::new(url, connect()?, Arc::clone(&clock))))
        } else {
            let keys = Keys::parse(jwks.get());
            let keys = keys.map_err(|what| Error::invalid_option(format!("jwks must be a URL, or {what}")))?;
            Source::Given(Arc::new(keys))
        };
        Ok(Self {
            expected: Expected { issuer, audiences },
            keys,
            clock,
        })
    }

    /// Whose token it is, as JSON text; nothing for one that is not good.
    ///
    /// # Errors
    /// When there are no keys to judge it with.
    pub(crate) async fn verify(&self, token: &str) -> Result<Option<String>> {
        let judge = |keys: &Keys| jwt::verify(token, keys, &self.expected, self.clock.unix_seconds());
        let verdict = match &self.keys {
            Source::Given(keys) => judge(keys),
            Source::Fetched(cache) => {
                let keys = cache.keys(None).await?;
                match judge(&keys) {
                    Err(Refusal::UnknownKey) => judge(&*cache.keys(Some(&keys)).await?),
                    verdict => verdict,
                }
            }
        };
        Ok(verdict.ok())
    }
}

fn audiences(options: &Object<'_>) -> Option<Vec<String>> {
    let name = |text: &str| {
        json::string(text)
            .filter(|name| !name.is_empty())
            .map(std::borrow::Cow::into_owned)
    };
    let given = options.present("audience")?.get();
    let audiences = match json::array(given) {
        Some(list) => list
            .into_iter()
            .map(|item| name(item.get()))
            .collect::<Option<Vec<_>>>()?,
        None => vec![name(given)?],
    };
    (!audiences.is_empty()).then_some(audiences)
}

/// Whoever can change the keys on their way can write tokens, so that they travel encrypted.
fn key_url(text: &str) -> Result<Url> {
    let wrong =
        || Error::invalid_option("jwks must be a https URL without credentials (http for loopback), or a JWK set");
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_fit = match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback,
        _ => false,
    };
    if is_fit && url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err(wrong())
    }
}

/// The keys behind a URL.
struct KeyCache {
    url: Url,
    client: Arc<dyn HttpClient>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// Whoever has it fetches; the others wait for what comes.
    turn: Semaphore,
}

#[derive(Default)]
struct Known {
    keys: Option<(Arc<Keys>, Instant)>,
    /// Before that they are not fetched again, and why not.
    pause: Option<(Instant, Option<Error>)>,
}

impl KeyCache {
    fn new(url: Url, client: Arc<dyn HttpClient>, clock: Arc<dyn Clock>) -> Self {
        Self {
            url,
            client,
            clock,
            known: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Keys that are good for now; newer ones than `unfit`, where there are such.
    async fn keys(&self, unfit: Option<&Arc<Keys>>) -> Result<Arc<Keys>> {
        if let Some(keys) = self.fresh(unfit) {
            return Ok(keys);
        }
        // It is never closed.
        let _turn = self.turn.acquire().await;
        // Somebody else may have fetched them meanwhile.
        if let Some(keys) = self.fresh(unfit) {
            return Ok(keys);
        }
        if let Some(answer) = self.at_hand() {
            return answer;
        }
        let fetched = self.fetch().await;
        let now = self.clock.now();
        let mut known = self.known();
        match fetched {
            Ok(keys) => {
                let keys = Arc::new(keys);
                known.keys = Some((Arc::clone(&keys), now));
                known.pause = Some((now + limits::JWKS_PAUSE, None));
                Ok(keys)
            }
            Err(error) => {
                known.pause = Some((now + limits::JWKS_RETRY, Some(same(&error))));
                // Old keys are better than none, for some time.
                known.not_too_old(now).ok_or(error)
            }
        }
    }

    fn fresh(&self, unfit: Option<&Arc<Keys>>) -> Option<Arc<Keys>> {
        let now = self.clock.now();
        let known = self.known();
        let (keys, since) = known.keys.as_ref()?;
        let is_fit = unfit.is_none_or(|unfit| !Arc::ptr_eq(unfit, keys));
        (is_fit && now.saturating_duration_since(*since) < limits::JWKS_FRESH).then(|| Arc::clone(keys))
    }

    /// What there is while they may not be fetched; nothing when they may.
    fn at_hand(&self) -> Option<Result<Arc<Keys>>> {
        let now = self.clock.now();
        let known = self.known();
        let (until, error) = known.pause.as_ref()?;
        if now >= *until {
            return None;
        }
        match (known.not_too_old(now), error) {
            (Some(keys), _) => Some(Ok(keys)),
            (None, Some(error)) => Some(Err(same(error))),
            (None, None) => None,
        }
    }

    async fn fetch(&self) -> Result<Keys> {
        let until = self.clock.now() + limits::JWKS_TIMEOUT;
        let host = self.url.host_str().unwrap_or_default();
        tokio::select! {
            biased;
            fetched = self.request() => fetched,
            () = self.clock.sleep_until(until) => {
                Err(Error::new(ErrorCode::Timeout, format!("{host} did not send its keys in time")))
            }
        }
        .map_err(|error| {
            let text = format!("the keys for tokens cannot be fetched: {error}");
            error.with_message(text)
        })
    }

    async fn request(&self) -> Result<Keys> {
        let host = self.url.host_str().unwrap_or_default();
        let wrong = |what: String| Error::new(ErrorCode::InvalidResponse, format!("{host} {what}"));
        let accepted = HeaderValue::from_static("application/jwk-set+json, application/json");
        let request = HttpRequest {
            method: Method::GET,
            url: self.url.clone(),
            headers: HeaderMap::from_iter([(ACCEPT, accepted)]),
            body: None,
        };
        let response = self.client.send(request).await?;
        if response.status != StatusCode::OK {
            return Err(wrong(format!("answered with HTTP {}", response.status.as_u16())));
        }
        let text = whole(response.body)
            .await?
            .ok_or_else(|| wrong(format!("sent more than {} bytes", limits::MAX_JWKS_BYTES)))?;
        Keys::parse(&text).map_err(|what| wrong(format!("did not send {what}")))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn not_too_old(&self, now: Instant) -> Option<Arc<Keys>> {
        let (keys, since) = self.keys.as_ref()?;
        (now.saturating_duration_since(*since) < limits::JWKS_LONGEST).then(|| Arc::clone(keys))
    }
}

/// Several may wait for one answer.
fn same(error: &Error) -> Error {
    Error::new(error.code(), error.message())
}

/// A body as text; nothing when it is too long.
async fn whole(mut body: Body) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk?;
        if bytes.len() + chunk.len() > limits::MAX_JWKS_BYTES {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
