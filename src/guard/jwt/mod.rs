//! Tokens of an authorization server: whether a JSON Web Token (RFC 7519) is good for this server, by keys and a time that
//! are handed in. Owns the rules; fetches nothing, and repeats nothing of a token.

mod keys;
mod signatures;
#[cfg(test)]
mod tests;

use jsonwebtoken::{DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

pub(crate) use self::keys::Keys;
use crate::limits;

/// What a token must say.
pub(crate) struct Expected {
    pub(crate) issuer: String,
    /// One of them is enough.
    pub(crate) audiences: Vec<String>,
}

/// Why a token is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is too long, no JSON Web Token, or one that asks for what is not known here: `alg: none` and secrets that both
    /// sides share are among that.
    Malformed,
    /// It names a key that is not among those at hand: there may be newer ones.
    UnknownKey,
    /// Nobody with that key signed it, or the key is not for signatures of this kind.
    Signature,
    /// It says no time until which it is good, or that time is over.
    Expired,
    /// Its time has not come.
    NotYet,
    /// Somebody else issued it.
    Issuer,
    /// It is for somebody else.
    Audience,
}

/// Whose token it is: JSON text of an `AuthInfo` without the token itself. `now` is in seconds since 1970.
///
/// # Errors
/// With the reason why it is not good.
pub(crate) fn verify(token: &str, keys: &Keys, expected: &Expected, now: u64) -> Result<String, Refusal> {
    if token.len() > limits::MAX_JWT_BYTES {
        return Err(Refusal::Malformed);
    }
    let header = decode_header(token).map_err(|_| Refusal::Malformed)?;
    if !is_understood(&header) {
        return Err(Refusal::Malformed);
    }
    let key = keys.find(&header)?;
    let claims = claims(token, key, &header)?;
    judge(&claims, expected, now)?;
    Ok(auth_info(claims))
}

/// Whoever lists what must be understood means something that is not done here (RFC 7515, section 4.1.11).
fn is_understood(header: &Header) -> bool {
    header.crit.is_none() && !header.extras.inner().contains_key("b64") && keys::is_offered(header.alg)
}

/// What the token says, once it is known that the key's owner said it.
fn claims(token: &str, key: &DecodingKey, header: &Header) -> Result<Map<String, Value>, Refusal> {
    let mut validation = Validation::new(header.alg);
    // The library would read the clock. What the token says is judged here.
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    decode(token, key, &validation)
        .map(|token| token.claims)
        .map_err(|_| Refusal::Signature)
}

fn judge(claims: &Map<String, Value>, expected: &Expected, now: u64) -> Result<(), Refusal> {
    let leeway = limits::JWT_LEEWAY.as_secs();
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in a double")]
    let (latest, earliest) = (now.saturating_add(leeway) as f64, now.saturating_sub(leeway) as f64);
    // Times may have fractions (RFC 7519, section 2).
    let until = claims.get("exp").and_then(Value::as_f64);
    if until.is_none_or(|until| until <= earliest) {
        return Err(Refusal::Expired);
    }
    if let Some(from) = claims.get("nbf")
        && from.as_f64().is_none_or(|from| from > latest)
    {
        return Err(Refusal::NotYet);
    }
    if claims.get("iss").and_then(Value::as_str) != Some(&expected.issuer) {
        return Err(Refusal::Issuer);
    }
    let is_ours = |audience: &Value| {
        audience
            .as_str()
            .is_some_and(|audience| expected.audiences.iter().any(|ours| ours == audience))
    };
    let is_for_us = match claims.get("aud") {
        Some(Value::Array(audiences)) => audiences.iter().any(is_ours),
        Some(audience) => is_ours(audience),
        None => false,
    };
    if is_for_us { Ok(()) } else { Err(Refusal::Audience) }
}

/// The claims that have a member of their own become it; the others are `extra`.
fn auth_info(mut claims: Map<String, Value>) -> String {
    let mut info = Map::new();
    let client = ["client_id", "azp"]
        .into_iter()
        .find(|name| claims.get(*name).is_some_and(Value::is_string));
    if let Some(client) = client.and_then(|name| claims.shift_remove(name)) {
        info.insert("clientId".to_owned(), client);
    }
    if claims.get("sub").is_some_and(Value::is_string)
        && let Some(subject) = claims.shift_remove("sub")
    {
        info.insert("subject".to_owned(), subject);
    }
    // RFC 8693, section 4.2, has one text; some servers have a list, or another name.
    let scopes = ["scope", "scp"]
        .into_iter()
        .find_map(|name| claims.shift_remove(name))
        .map(scopes);
    info.insert("scopes".to_owned(), Value::Array(scopes.unwrap_or_default()));
    if let Some(until) = claims.shift_remove("exp") {
        info.insert("expiresAt".to_owned(), until);
    }
    info.insert("extra".to_owned(), Value::Object(claims));
    Value::Object(info).to_string()
}

fn scopes(claim: Value) -> Vec<Value> {
    match claim {
        Value::String(text) => text.split_ascii_whitespace().map(Value::from).collect(),
        Value::Array(items) => items.into_iter().filter(Value::is_string).collect(),
        _ => Vec::new(),
    }
}
