//! Servers that are written out, byte by byte, and what the tests ask them for.

use super::*;

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(super) const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

pub(super) fn client(proxy: Proxy, ca: &[String], blocks: bool) -> ReqwestClient {
    ReqwestClient::new(&HttpSettings::new(proxy, ca, blocks).unwrap()).unwrap()
}

pub(super) fn routes(variables: &[(&str, &str)]) -> Result<Routes> {
    Routes::from_variables(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

pub(super) fn through(variables: &[(&str, &str)]) -> ReqwestClient {
    let settings = HttpSettings::new(Proxy::Env, &[], false).unwrap();
    ReqwestClient::build(&settings, routes(variables).unwrap(), Arc::new(SystemResolver)).unwrap()
}

pub(super) fn blocking(resolver: &Arc<Changing>) -> ReqwestClient {
    let settings = HttpSettings::new(Proxy::None, &[], true).unwrap();
    let resolver: Arc<Changing> = Arc::clone(resolver);
    ReqwestClient::build(&settings, Routes::new(&Proxy::None).unwrap(), resolver).unwrap()
}

pub(super) fn get(url: &str) -> HttpRequest {
    HttpRequest {
        method: Method::GET,
        url: Url::parse(url).unwrap(),
        headers: HeaderMap::new(),
        body: None,
    }
}

pub(super) fn post(url: &str, body: &str) -> HttpRequest {
    HttpRequest {
        method: Method::POST,
        body: Some(body.to_owned()),
        ..get(url)
    }
}

pub(super) async fn failure(url: &str) -> Error {
    let outcome = soon(client(Proxy::None, &[], false).send(post(url, "{}"))).await;
    let error = outcome.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    error
}

pub(super) async fn text(mut body: Body) -> Result<String> {
    let mut text = Vec::new();
    while let Some(chunk) = body.next().await {
        text.extend_from_slice(&chunk?);
    }
    Ok(String::from_utf8(text).unwrap())
}

pub(super) async fn drain(body: Body) {
    text(body).await.unwrap();
}

pub(super) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (listener, url)
}

/// A server that gives every connection the same bytes after its first request, or what there is of one, and closes it.
pub(super) async fn answering(answer: impl Fn() -> Vec<u8> + Send + 'static) -> String {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        loop {
            let mut peer = accept(&listener).await;
            peer.request().await;
            peer.send(&answer()).await;
        }
    });
    url
}

pub(super) async fn answering_tls(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> String {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                let mut peer = Peer::new(stream);
                peer.request().await;
                peer.send(EMPTY).await;
            }
        }
    });
    url.replace("http:", "https:")
}

/// A self-signed certificate for 127.0.0.1.
pub(super) fn certificate(change: impl FnOnce(&mut rcgen::CertificateParams)) -> rcgen::CertifiedKey<rcgen::KeyPair> {
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    change(&mut params);
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    rcgen::CertifiedKey { cert, signing_key }
}

pub(super) async fn accept(listener: &TcpListener) -> Peer<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    Peer::new(stream)
}

/// The server's side of one connection.
pub(super) struct Peer<S> {
    stream: BufReader<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// The next request with its body, or `None` when the connection ends before it does.
    pub(super) async fn request(&mut self) -> Option<String> {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            // A handshake of TLS is no request, but what there is of one.
            if request.starts_with(b"\x16\x03") {
                return None;
            }
            request.push(self.stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(request).unwrap();
        let length = head
            .to_lowercase()
            .split_once("content-length: ")
            .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(head + &String::from_utf8(body).unwrap())
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        // The other side may be gone by now, which is the test's business.
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    pub(super) async fn chunk(&mut self, bytes: &[u8]) {
        self.send(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
            .await;
    }

    /// Waits until the other side closes.
    pub(super) async fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]).await, Ok(0) | Err(_))
    }
}

/// A resolver whose answers are given one after the other; the last one stays.
pub(super) struct Changing {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Changing {
    pub(super) fn new(answers: Vec<Vec<IpAddr>>) -> Arc<Self> {
        Arc::new(Self {
            answers,
            asked: AtomicUsize::new(0),
        })
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Changing {
    fn resolve(&self, _: Name) -> Resolving {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let addresses: Vec<_> = self.answers[turn]
            .iter()
            .map(|address| SocketAddr::from((*address, 0)))
            .collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

/// Two pieces of one encoded text; the first can be decoded without the second.
pub(super) async fn encoded(coding: &str, [first, rest]: &[impl AsRef<[u8]>; 2]) -> [Vec<u8>; 2] {
    pub(super) async fn pieces<W>(
        mut encoder: W,
        written: impl Fn(&W) -> &Vec<u8>,
        first: &[u8],
        rest: &[u8],
    ) -> [Vec<u8>; 2]
    where
        W: AsyncWrite + Unpin,
    {
        encoder.write_all(first).await.unwrap();
        encoder.flush().await.unwrap();
        let split = written(&encoder).len();
        encoder.write_all(rest).await.unwrap();
        encoder.shutdown().await.unwrap();
        let (first, rest) = written(&encoder).split_at(split);
        [first.to_vec(), rest.to_vec()]
    }
    let (first, rest) = (first.as_ref(), rest.as_ref());
    match coding {
        "br" => pieces(BrotliEncoder::new(Vec::new()), BrotliEncoder::get_ref, first, rest).await,
        "zstd" => pieces(ZstdEncoder::new(Vec::new()), ZstdEncoder::get_ref, first, rest).await,
        _ => pieces(GzipEncoder::new(Vec::new()), GzipEncoder::get_ref, first, rest).await,
    }
}

pub(super) async fn no_connection(listener: &TcpListener) -> bool {
    no_connection_while(listener, std::future::pending::<()>()).await
}

/// Whether nobody connects for a moment, with something going on meanwhile, whatever becomes of it.
#[expect(clippy::disallowed_methods, reason = "nothing happens, for a moment")]
pub(super) async fn no_connection_while(listener: &TcpListener, meanwhile: impl Future) -> bool {
    let connected = async {
        tokio::select! {
            _ = listener.accept() => (),
            () = async { meanwhile.await; std::future::pending().await } => (),
        }
    };
    tokio::time::timeout(Duration::from_millis(300), connected)
        .await
        .is_err()
}

#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future)
        .await
        .expect("it takes too long")
}
