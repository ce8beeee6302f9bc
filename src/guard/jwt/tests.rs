use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const NOW: u64 = 1_000;

struct Issuer {
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
        }
    }

    fn ec_jwk(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "x": encode(&point[1..33]), "y": encode(&point[33..]) })
    }

    fn ed_jwk(&self) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(self.ed.public_key().as_ref()) })
    }

    fn keys(&self) -> Keys {
        set(&[self.ec_jwk(), self.ed_jwk(), rsa_jwk()])
    }

    /// Signed with the key for the algorithm in the header.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = if header["alg"] == "EdDSA" {
            self.ed.sign(message.as_bytes()).as_ref().to_vec()
        } else {
            self.ec
                .sign(&SystemRandom::new(), message.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec()
        };
        format!("{message}.{}", encode(signature))
    }

    fn judge(&self, header: &Value, claims: &Value) -> Result<Value, Refusal> {
        judged(&self.token(header, claims), &self.keys())
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

fn set(keys: &[Value]) -> Keys {
    Keys::parse(&json!({ "keys": keys }).to_string()).unwrap()
}

fn rsa_jwk() -> Value {
    json!({ "kty": "RSA", "kid": "rsa", "e": "AQAB", "n": rsa("modulus") })
}

fn expected() -> Expected {
    Expected {
        issuer: "https://id.example".to_owned(),
        audiences: vec!["other".to_owned(), "https://mcp.example/mcp".to_owned()],
    }
}

fn judged(token: &str, keys: &Keys) -> Result<Value, Refusal> {
    verify(token, keys, &expected(), NOW).map(|text| serde_json::from_str(&text).unwrap())
}

fn es256() -> Value {
    json!({ "alg": "ES256", "kid": "ec", "typ": "at+jwt" })
}

fn good() -> Value {
    json!({ "iss": "https://id.example", "aud": "https://mcp.example/mcp", "sub": "ada", "exp": 2_000 })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = good();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

#[test]
fn a_good_token_says_whose_it_is() {
    let issuer = Issuer::new();
    let claims = json!({
        "iss": "https://id.example", "aud": ["elsewhere", "https://mcp.example/mcp"], "sub": "ada", "client_id": "app",
        "azp": "front", "scope": "tides:read  tides:write", "exp": 2_000, "nbf": 900, "tenant": "acme",
    });
    let info = issuer.judge(&es256(), &claims).unwrap();
    assert_eq!(
        info,
        json!({
            "clientId": "app", "subject": "ada", "scopes": ["tides:read", "tides:write"], "expiresAt": 2_000,
            "extra": { "iss": "https://id.example", "aud": ["elsewhere", "https://mcp.example/mcp"], "azp": "front", "nbf": 900, "tenant": "acme" },
        })
    );
    let list = issuer.judge(&es256(), &with("scp", json!(["a", 1, "b"]))).unwrap();
    assert_eq!(list["scopes"], json!(["a", "b"]));
    let none = issuer.judge(&es256(), &without("sub")).unwrap();
    assert_eq!(
        (&none["scopes"], none.get("subject"), none.get("clientId")),
        (&json!([]), None, None)
    );
    assert_eq!(
        issuer.judge(&es256(), &with("azp", json!("front"))).unwrap()["clientId"],
        "front"
    );
}

#[test]
fn each_kind_of_signature_is_checked() {
    let issuer = Issuer::new();
    let keys = issuer.keys();
    let edwards = issuer.token(&json!({ "alg": "EdDSA", "kid": "ed" }), &good());
    for token in [
        edwards.clone(),
        issuer.token(&es256(), &good()),
        rsa("RS256"),
        rsa("PS256"),
    ] {
        assert_eq!(judged(&token, &keys).unwrap()["subject"], "ada", "{token}");
        // One bit of the claims, of the signature, and of each of its ends.
        let dot = token.rfind('.').unwrap();
        for place in [dot - 8, dot + 1, dot + 20] {
            let mut forged = token.as_bytes().to_vec();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(judged(&forged, &keys), Err(Refusal::Signature), "{forged}");
        }
        assert_eq!(judged(&token[..=dot], &keys), Err(Refusal::Signature));
    }
    // The same names, the keys of somebody else.
    let stranger = Issuer::new();
    for token in [&edwards, &issuer.token(&es256(), &good())] {
        assert_eq!(judged(token, &stranger.keys()), Err(Refusal::Signature));
    }
}

#[test]
fn a_modulus_with_zeros_in_front_is_the_same_one() {
    use base64::Engine as _;
    let mut number = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(rsa("modulus"))
        .unwrap();
    number.insert(0, 0);
    let keys = set(&[json!({ "kty": "RSA", "kid": "rsa", "e": "AQAB", "n": encode(number) })]);
    assert!(judged(&rsa("RS256"), &keys).is_ok());
}

#[test]
fn no_signature_and_shared_secrets_are_refused() {
    let issuer = Issuer::new();
    let claims = encode(good().to_string());
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "None", "kid": "ec" }),
        json!({ "alg": "HS256", "kid": "ec" }),
        json!({ "alg": "HS512" }),
        json!({ "alg": "ES512", "kid": "ec" }),
        json!({ "kid": "ec" }),
        json!({ "alg": "ES256", "kid": "ec", "crit": ["exp"], "exp": 1 }),
        json!({ "alg": "ES256", "kid": "ec", "crit": ["b64"], "b64": false }),
        json!({ "alg": "ES256", "kid": "ec", "b64": false }),
        json!({ "alg": ["ES256"], "kid": "ec" }),
        json!([]),
    ] {
        assert_eq!(issuer.judge(&header, &good()), Err(Refusal::Malformed), "{header}");
        let unsigned = format!("{}.{claims}.", encode(header.to_string()));
        assert_eq!(judged(&unsigned, &issuer.keys()), Err(Refusal::Malformed), "{header}");
    }
    // A set may not bring a secret in either.
    let secret = json!({ "kty": "oct", "kid": "ec", "k": encode([7; 32]) });
    assert!(Keys::parse(&json!({ "keys": [secret] }).to_string()).is_err());
}

#[test]
fn a_key_serves_its_own_kind_of_signature_alone() {
    let issuer = Issuer::new();
    // The name of another key.
    let header = json!({ "alg": "ES256", "kid": "ed" });
    assert_eq!(issuer.judge(&header, &good()), Err(Refusal::Signature));
    let header = json!({ "alg": "RS256", "kid": "ec" });
    assert_eq!(issuer.judge(&header, &good()), Err(Refusal::Signature));
    let header = json!({ "alg": "ES256", "kid": "newer" });
    assert_eq!(issuer.judge(&header, &good()), Err(Refusal::UnknownKey));

    // Keys for something else do not count.
    let token = issuer.token(&es256(), &good());
    for (name, value) in [
        ("use", json!("enc")),
        ("key_ops", json!(["encrypt"])),
        ("alg", json!("ES384")),
        ("crv", json!("P-384")),
        ("x", json!("AA")),
    ] {
        let mut key = issuer.ec_jwk();
        key[name] = value;
        let keys = set(&[key, rsa_jwk()]);
        assert_eq!(judged(&token, &keys), Err(Refusal::UnknownKey), "{name}");
    }
    let mut key = issuer.ec_jwk();
    key["alg"] = json!("ES256");
    key["key_ops"] = json!(["verify"]);
    assert!(judged(&token, &set(&[key])).is_ok());
}

#[test]
fn a_token_without_a_name_for_its_key_needs_a_clear_case() {
    let issuer = Issuer::new();
    let token = issuer.token(&json!({ "alg": "ES256" }), &good());
    assert!(judged(&token, &issuer.keys()).is_ok());
    let two = set(&[Issuer::new().ec_jwk(), issuer.ec_jwk()]);
    assert_eq!(judged(&token, &two), Err(Refusal::Signature));
    assert_eq!(judged(&token, &set(&[rsa_jwk()])), Err(Refusal::Signature));
}

#[test]
fn times_issuer_and_audience_are_judged() {
    let issuer = Issuer::new();
    let leeway = limits::JWT_LEEWAY.as_secs();
    for (claims, verdict) in [
        (without("exp"), Err(Refusal::Expired)),
        (with("exp", json!(NOW - leeway)), Err(Refusal::Expired)),
        (with("exp", json!(NOW - leeway + 1)), Ok(())),
        (with("exp", json!(0)), Err(Refusal::Expired)),
        (with("exp", json!(-5)), Err(Refusal::Expired)),
        (with("exp", json!("2000")), Err(Refusal::Expired)),
        (with("exp", json!(null)), Err(Refusal::Expired)),
        (with("exp", json!(2_000.5)), Ok(())),
        (with("exp", json!(1e300)), Ok(())),
        (with("nbf", json!(NOW + leeway)), Ok(())),
        (with("nbf", json!(NOW + leeway + 1)), Err(Refusal::NotYet)),
        (with("nbf", json!("soon")), Err(Refusal::NotYet)),
        (with("nbf", json!(null)), Err(Refusal::NotYet)),
        (without("iss"), Err(Refusal::Issuer)),
        (with("iss", json!("https://id.example/")), Err(Refusal::Issuer)),
        (with("iss", json!(["https://id.example"])), Err(Refusal::Issuer)),
        (without("aud"), Err(Refusal::Audience)),
        (with("aud", json!([])), Err(Refusal::Audience)),
        (with("aud", json!("https://mcp.example")), Err(Refusal::Audience)),
        (with("aud", json!(["other"])), Ok(())),
        (with("aud", json!([1, null])), Err(Refusal::Audience)),
    ] {
        assert_eq!(issuer.judge(&es256(), &claims).map(|_| ()), verdict, "{claims}");
    }
    let twice = r#"{"iss":"https://evil.example","iss":"https://id.example","aud":"other","exp":2000}"#;
    let message = format!("{}.{}", encode(es256().to_string()), encode(twice));
    let signature = issuer.ec.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    let token = format!("{message}.{}", encode(signature));
    assert!(judged(&token, &issuer.keys()).is_err());
}

#[test]
fn what_is_no_token_is_refused() {
    let issuer = Issuer::new();
    let token = issuer.token(&es256(), &good());
    for text in ["", ".", "..", "...", "a.b.c", "opaque", "e30.e30.e30", &token[1..]] {
        assert_eq!(judged(text, &issuer.keys()), Err(Refusal::Malformed), "{text:?}");
    }
    for text in [
        format!("{token}="),
        format!("{token} "),
        format!(" {token}"),
        format!("{token}.x"),
    ] {
        assert!(judged(&text, &issuer.keys()).is_err(), "{text:?}");
    }
    let claims = with("filling", json!("x".repeat(limits::MAX_JWT_BYTES)));
    assert_eq!(issuer.judge(&es256(), &claims), Err(Refusal::Malformed));
}

#[test]
fn a_set_is_read_within_bounds() {
    let issuer = Issuer::new();
    let wrong = |text: &str| Keys::parse(text).err().unwrap();
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":null}"#, "keys"] {
        assert!(wrong(text).starts_with("a JWK set: an object"), "{text}");
    }
    assert!(wrong(r#"{"keys":[]}"#).starts_with("a JWK set with a public key"));
    assert!(wrong(r#"{"keys":[{"kty":"RSA"},7,null,{"kty":"XYZ"}]}"#).starts_with("a JWK set with a public key"));
    let many = vec![issuer.ed_jwk(); limits::MAX_JWKS_KEYS];
    assert!(Keys::parse(&json!({ "keys": many }).to_string()).is_ok());
    let more = vec![issuer.ed_jwk(); limits::MAX_JWKS_KEYS + 1];
    assert_eq!(
        wrong(&json!({ "keys": more }).to_string()),
        "a JWK set of at most 100 keys"
    );
    // Odd keys do not spoil the others.
    let keys = set(&[json!({ "kty": "XYZ" }), json!(7), issuer.ec_jwk()]);
    assert!(judged(&issuer.token(&es256(), &good()), &keys).is_ok());
}

/// A key of 2048 bits that was thrown away after it had signed two tokens: `ring` cannot make such keys.
fn rsa(name: &str) -> String {
    let vectors: Value = serde_json::from_str(include_str!("../../../__test__/vectors/rsa-tokens.json")).unwrap();
    vectors[name].as_str().unwrap().to_owned()
}
