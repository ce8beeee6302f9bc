//! The arithmetic of signatures, by `ring`, which TLS brings anyway. Checks only; nothing here signs.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(Error::from(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: |algorithm, key| Check::new(*algorithm, key).map(|check| Box::new(check) as Box<dyn JwtVerifier>),
    // They are for making keys, which is not done here.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Tells the library whom to ask. Once is enough; more does no harm.
pub(super) fn install() {
    let _is_first = PROVIDER.install_default();
}

struct Check {
    algorithm: Algorithm,
    key: Key,
}

enum Key {
    Rsa {
        parameters: &'static RsaParameters,
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    Other(UnparsedPublicKey<Vec<u8>>),
}

impl Check {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self, Error> {
        if key.family() != algorithm.family() {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        let key = match (algorithm.family(), key.kind()) {
            (AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => Key::Rsa {
                parameters: rsa(algorithm)?,
                modulus: n.clone(),
                exponent: e.clone(),
            },
            (_, DecodingKeyKind::SecretOrDer(bytes)) => {
                Key::Other(UnparsedPublicKey::new(other(algorithm)?, bytes.clone()))
            }
            _ => return Err(ErrorKind::InvalidKeyFormat.into()),
        };
        Ok(Self { algorithm, key })
    }
}

fn rsa(algorithm: Algorithm) -> Result<&'static RsaParameters, Error> {
    match algorithm {
        Algorithm::RS256 => Ok(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Ok(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Ok(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Ok(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Ok(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Ok(&RSA_PSS_2048_8192_SHA512),
        _ => Err(ErrorKind::UnsupportedAlgorithm.into()),
    }
}

fn other(algorithm: Algorithm) -> Result<&'static dyn VerificationAlgorithm, Error> {
    match algorithm {
        Algorithm::ES256 => Ok(&ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Ok(&ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Ok(&ED25519),
        _ => Err(ErrorKind::UnsupportedAlgorithm.into()),
    }
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verdict = match &self.key {
            Key::Rsa {
                parameters,
                modulus,
                exponent,
            } => RsaPublicKeyComponents {
                n: modulus,
                e: exponent,
            }
            .verify(parameters, message, signature),
            Key::Other(key) => key.verify(message, signature),
        };
        verdict.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
