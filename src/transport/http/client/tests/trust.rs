//! Whose certificates are trusted.

use super::support::*;
use super::*;

#[tokio::test]
async fn own_roots_are_trusted_besides_the_usual_ones() {
    let certified = certificate(|_| ());
    let url = answering_tls(&certified).await;
    let error = soon(client(Proxy::None, &[], false).send(get(&url))).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConnectionLost);
    assert!(
        error
            .to_string()
            .contains("tls, the issuer of its certificate is not trusted"),
        "{error}"
    );

    let ca = [certified.cert.pem()];
    let response = soon(client(Proxy::None, &ca, false).send(get(&url))).await.unwrap();
    assert_eq!(response.status, StatusCode::OK);
}

#[tokio::test]
async fn a_self_signed_certificate_that_calls_itself_an_authority_is_trusted_when_named() {
    let authority = |params: &mut rcgen::CertificateParams| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    };
    let certified = certificate(authority);
    let other = certificate(authority);
    let url = answering_tls(&certified).await;
    assert!(
        client(Proxy::None, &[certified.cert.pem()], false)
            .send(get(&url))
            .await
            .is_ok()
    );
    let error = client(Proxy::None, &[other.cert.pem()], false)
        .send(get(&answering_tls(&certified).await))
        .await
        .unwrap_err();
    assert!(error.to_string().contains(": tls, "), "{error}");
}

#[tokio::test]
async fn names_and_times_of_certificates_count_for_own_roots_too() {
    for is_ca in [
        rcgen::IsCa::NoCa,
        rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained),
    ] {
        let elsewhere = certificate(|params| {
            params.is_ca = is_ca;
            params.subject_alt_names = vec![rcgen::SanType::DnsName("elsewhere.test".try_into().unwrap())];
        });
        let expired = certificate(|params| {
            params.is_ca = is_ca;
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        for (certified, reason) in [(elsewhere, "is for another host"), (expired, "has expired")] {
            let url = answering_tls(&certified).await;
            let client = client(Proxy::None, &[certified.cert.pem()], false);
            let error = client.send(get(&url)).await.unwrap_err().to_string();
            assert!(error.ends_with(&format!("tls, its certificate {reason}")), "{error}");
        }
    }
}

#[tokio::test]
async fn https_to_a_server_without_it_says_so() {
    let url = answering(|| b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let error = failure(&url.replace("http:", "https:")).await.to_string();
    assert!(error.ends_with(": tls, it does not speak TLS"), "{error}");
}

#[test]
fn a_root_that_is_no_certificate_is_refused() {
    let certified = certificate(|_| ());
    let good = certified.cert.pem();
    let key = certified.signing_key.serialize_pem();
    let broken = good.replace("MII", "!!!");
    let not_x509 = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
    for wrong in ["", "secret", &key, &broken, not_x509] {
        let error = HttpSettings::new(Proxy::None, &[good.clone(), wrong.to_owned()], false)
            .err()
            .unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption, "{wrong}");
        let error = error.to_string();
        assert!(error.starts_with("ca[1] ") && !error.contains("secret"), "{error}");
    }
    let bundle = good.repeat(2);
    assert_eq!(
        HttpSettings::new(Proxy::None, &[bundle], false).unwrap().roots().len(),
        2
    );
}
