//! Whom TLS trusts: Mozilla's roots, which Node trusts as well, and those of the option `ca`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, Result};

/// Reads one entry of the option `ca`.
///
/// # Errors
/// `invalid-option` naming the entry: it holds no certificate, or one that cannot be trusted as a root.
pub(super) fn certificates(index: usize, pem: &str) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |what: &str| Error::invalid_option(format!("ca[{index}] {what}"));
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("is not well-formed PEM"))?;
    if certificates.is_empty() {
        return Err(wrong("holds no certificate in PEM form"));
    }
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        store
            .add(certificate.clone())
            .map_err(|_| wrong("holds a certificate that cannot be read"))?;
    }
    Ok(certificates)
}

pub(super) fn client_config(own: &[CertificateDer<'static>]) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    for certificate in own {
        roots.add(certificate.clone()).map_err(|_| unusable())?;
    }
    let verifier = Verifier::new(roots, own.to_vec(), Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unusable())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn unusable() -> Error {
    Error::invalid_option("ca cannot be used")
}

/// webpki's verifier, with one addition. `openssl req -x509` makes a self-signed server certificate that calls itself an
/// authority, and webpki takes no authority for a server, even where the user named that very certificate in `ca`.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(roots: RootCertStore, own: Vec<CertificateDer<'static>>, provider: Arc<CryptoProvider>) -> Result<Self> {
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|_| unusable())?;
        Ok(Self { inner, own })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            // The validity period is checked before the role is, so that it holds here.
            Err(error) if is_authority_as_server(&error) && self.own.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn is_authority_as_server(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}
