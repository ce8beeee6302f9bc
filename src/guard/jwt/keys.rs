//! The keys of an authorization server, as a JWK set (RFC 7517): which of them may vouch for a token. Keys that both sides
//! share are none, whatever the set says of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header};

use super::{Refusal, signatures};
use crate::json::{self, Object};
use crate::limits;

/// Keys that signatures can be checked with.
pub(crate) struct Keys {
    keys: Vec<Key>,
}

struct Key {
    id: Option<String>,
    /// The kinds of signatures that it is for.
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// Whether a kind of signature is taken at all, from whatever key.
pub(super) fn is_offered(algorithm: Algorithm) -> bool {
    RSA.contains(&algorithm) || matches!(algorithm, Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA)
}

impl Keys {
    /// Reads a JWK set. Keys of a kind that is not known are passed over, as the RFC has it.
    ///
    /// # Errors
    /// With what is wrong, in words that go after "must be".
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        signatures::install();
        let most = limits::MAX_JWKS_KEYS;
        let no_set = || "a JWK set: an object with an array `keys`".to_owned();
        let listed = Object::parse(text)
            .and_then(|set| set.array("keys"))
            .ok_or_else(no_set)?;
        if listed.len() > most {
            return Err(format!("a JWK set of at most {most} keys"));
        }
        let keys: Vec<Key> = listed
            .into_iter()
            .filter_map(|key| json::parse::<Jwk>(key.get()))
            .filter_map(Key::new)
            .collect();
        if keys.is_empty() {
            return Err(
                "a JWK set with a public key for signatures: RSA, EC (P-256, P-384) or OKP (Ed25519)".to_owned(),
            );
        }
        Ok(Self { keys })
    }

    /// The key that a token was signed with, as far as it says.
    ///
    /// # Errors
    /// `UnknownKey`, when there is none of its name; `Signature`, when it is for other signatures, or it is not clear which
    /// one is meant.
    pub(super) fn find(&self, header: &Header) -> Result<&DecodingKey, Refusal> {
        let fits = |key: &&Key| key.algorithms.contains(&header.alg);
        let Some(id) = &header.kid else {
            let mut fitting = self.keys.iter().filter(fits);
            return match (fitting.next(), fitting.next()) {
                (Some(key), None) => Ok(&key.decoding),
                _ => Err(Refusal::Signature),
            };
        };
        let mut named = self.keys.iter().filter(|key| key.id.as_ref() == Some(id)).peekable();
        if named.peek().is_none() {
            return Err(Refusal::UnknownKey);
        }
        named.find(fits).map(|key| &key.decoding).ok_or(Refusal::Signature)
    }
}

impl Key {
    /// Nothing for a key that is not for checking signatures, or not known here.
    fn new(jwk: Jwk) -> Option<Self> {
        let common = jwk.common;
        let is_for_signatures = common
            .public_key_use
            .is_none_or(|purpose| purpose == PublicKeyUse::Signature)
            && common
                .key_operations
                .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        if !is_for_signatures {
            return None;
        }
        let (algorithms, decoding) = match jwk.algorithm {
            AlgorithmParameters::RSA(rsa) => (RSA, rsa_key(&rsa.n, &rsa.e)?),
            AlgorithmParameters::EllipticCurve(point) => {
                let (algorithms, length): (&[Algorithm], _) = match point.curve {
                    EllipticCurve::P256 => (&[Algorithm::ES256], P256_BYTES),
                    EllipticCurve::P384 => (&[Algorithm::ES384], P384_BYTES),
                    _ => return None,
                };
                let is_whole = |part: &str| decoded(part).is_some_and(|part| part.len() == length);
                if !is_whole(&point.x) || !is_whole(&point.y) {
                    return None;
                }
                (algorithms, DecodingKey::from_ec_components(&point.x, &point.y).ok()?)
            }
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => (
                &[Algorithm::EdDSA] as &[_],
                DecodingKey::from_ed_components(&pair.x).ok()?,
            ),
            _ => return None,
        };
        let wanted = common.key_algorithm;
        let algorithms: Vec<Algorithm> = algorithms
            .iter()
            .copied()
            .filter(|algorithm| wanted.is_none_or(|wanted| wanted.to_string().parse() == Ok(*algorithm)))
            .collect();
        (!algorithms.is_empty()).then_some(Self {
            id: common.key_id,
            algorithms,
            decoding,
        })
    }
}

const P256_BYTES: usize = 32;
const P384_BYTES: usize = 48;

/// Some servers write numbers with zeros in front, which the library takes for another number.
fn rsa_key(modulus: &str, exponent: &str) -> Option<DecodingKey> {
    let number = |text: &str| {
        let bytes = decoded(text)?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        bytes.get(zeros..).map(<[u8]>::to_vec)
    };
    Some(DecodingKey::from_rsa_raw_components(
        &number(modulus)?,
        &number(exponent)?,
    ))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
