//! A port and who connects to it: how many at once, and with what patience. Knows HTTP as far as a connection goes, and no
//! route.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::patience::Patient;
use crate::error::{Error, ErrorCode, Result};
use crate::host::Clock;
use crate::limits;

/// A port that is bound.
pub(crate) struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

/// How a port is served.
#[derive(Clone)]
pub(crate) struct Manner {
    pub(crate) max_connections: usize,
    pub(crate) header_timeout: Duration,
    /// How long a client may take nothing of what is written to it; nothing for ever.
    pub(crate) patience: Option<Duration>,
    /// How long connections may take to end once the port is closed.
    pub(crate) shutdown_timeout: Duration,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// Who is at the other end of a connection.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Cancelled, it ends the connection without waiting for anything to be read.
    pub(crate) hang_up: CancellationToken,
}

/// What answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    type Body: Body<Data = bytes::Bytes, Error = Infallible> + Send + 'static;

    fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Somebody found no room.
    fn turned_away(&self) {}

    /// Somebody took nothing of an answer for too long.
    fn took_nothing(&self) {}
}

/// What goes on with a connection that has switched protocols: an extension of the response that says so. It counts as
/// the connection that it was, and ends with the port.
#[derive(Clone)]
pub(crate) struct Afterwards(Arc<Mutex<Option<Work>>>);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Afterwards {
    pub(crate) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::pin(work)))))
    }

    fn take(&self) -> Option<Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How many are connected; shared with whoever wants to know.
pub(crate) type Connected = Arc<AtomicUsize>;

/// Somebody who is connected.
struct Seat(Connected);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What speaks TLS with a certificate and its key, both PEM.
///
/// # Errors
/// `invalid-option` when they are none, or do not belong together.
pub(crate) fn tls(cert: &str, key: &str) -> Result<TlsAcceptor> {
    let wrong = |what: &str| Error::invalid_option(format!("tls.{what}"));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(cert.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("cert is not PEM"))?;
    if chain.is_empty() {
        return Err(wrong("cert holds no certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| wrong("key holds no private key in PEM"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&format!("cannot be used: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| wrong(&format!("cert and key cannot be used: {error}")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl Port {
    /// # Errors
    /// When the host is no address of this machine, or the port is taken.
    pub(crate) async fn bind(host: &str, port: u16) -> Result<Self> {
        let unbound = |error: io::Error| {
            let message = format!("cannot listen on {host}:{port}: {error}");
            Error::new(ErrorCode::Unavailable, message).with_source(error)
        };
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let listener = TcpListener::bind((bare.unwrap_or(host), port)).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        Ok(Self { listener, address })
    }

    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }

    /// Serves whoever connects until it is stopped; then the port is free, and every connection has ended.
    pub(crate) async fn serve<S: Service>(
        self,
        manner: Manner,
        service: Arc<S>,
        connected: Connected,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) {
        let tasks = TaskTracker::new();
        let kill = CancellationToken::new();
        let turned_away = Arc::new(AtomicUsize::new(0));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            let Ok((stream, address)) = accepted else {
                // Out of descriptors, or a client that went away at once: both pass.
                let pause = clock.sleep_until(clock.now() + limits::ACCEPT_PAUSE);
                tokio::select! {
                    () = pause => continue,
                    () = stop.cancelled() => break,
                }
            };
            // Small answers do not wait for more to come; a stream that cannot be told so works too.
            let _told = stream.set_nodelay(true);
            if connected.fetch_add(1, Ordering::AcqRel) >= manner.max_connections {
                connected.fetch_sub(1, Ordering::AcqRel);
                service.turned_away();
                if turned_away.fetch_add(1, Ordering::AcqRel) < limits::MAX_TURNED_AWAY {
                    let seat = Seat(Arc::clone(&turned_away));
                    let clock = Arc::clone(&clock);
                    tasks.spawn(async move {
                        turn_away(stream, &*clock).await;
                        drop(seat);
                    });
                } else {
                    turned_away.fetch_sub(1, Ordering::AcqRel);
                }
                continue;
            }
            let seat = Seat(Arc::clone(&connected));
            let connection = Connection {
                manner: manner.clone(),
                service: Arc::clone(&service),
                peer: Peer {
                    address,
                    hang_up: CancellationToken::new(),
                },
                clock: Arc::clone(&clock),
                stop: stop.clone(),
            };
            let kill = kill.clone();
            tasks.spawn(async move {
                tokio::select! {
                    () = connection.run(stream) => {}
                    () = kill.cancelled() => {}
                }
                drop(seat);
            });
        }
        drop(self.listener);
        tasks.close();
        let patience = async {
            match clock.now().checked_add(manner.shutdown_timeout) {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tasks.wait() => return,
            () = patience => {}
        }
        kill.cancel();
        tasks.wait().await;
    }
}

struct Connection<S> {
    manner: Manner,
    service: Arc<S>,
    peer: Peer,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
}

impl<S: Service> Connection<S> {
    async fn run(self, stream: TcpStream) {
        let switched = match self.manner.tls.clone() {
            // What only HTTP needs is let go of when a connection goes on without it.
            None => Box::pin(self.speak(stream)).await,
            Some(tls) => {
                let patience = self.clock.sleep_until(self.clock.now() + self.manner.header_timeout);
                let secured = tokio::select! {
                    secured = tls.accept(stream) => secured,
                    () = patience => return,
                };
                match secured {
                    Ok(stream) => Box::pin(self.speak(stream)).await,
                    Err(_) => None,
                }
            }
        };
        if let Some(work) = switched {
            work.await;
        }
    }

    /// Speaks HTTP until its end; then says what goes on in another protocol.
    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Option<Work> {
        let switched = Mutex::new(None);
        let service = service_fn(|request| {
            let service = Arc::clone(&self.service);
            let peer = self.peer.clone();
            let switched = &switched;
            // Let go of with its request: a connection keeps the room for what it was given here.
            Box::pin(async move {
                let mut response = service.respond(request, peer).await;
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    let afterwards = response.extensions_mut().remove::<Afterwards>();
                    let work = afterwards.and_then(|afterwards| afterwards.take());
                    *switched.lock().unwrap_or_else(PoisonError::into_inner) = work;
                }
                Ok::<_, Infallible>(response)
            })
        });
        let stream = Patient::new(stream, self.manner.patience, Arc::clone(&self.clock));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.manner.header_timeout)
            .max_buf_size(limits::HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        {
            let mut connection = pin!(connection);
            let spoken = async {
                // How a connection ends is its client's business.
                let ended = tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = self.stop.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                };
                if ended.is_err_and(|error| is_out_of_patience(&error)) {
                    self.service.took_nothing();
                }
            };
            tokio::select! {
                () = spoken => {}
                () = self.peer.hang_up.cancelled() => {}
            }
        }
        switched.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_out_of_patience(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

/// Says that there is no room, and lets the client read that.
async fn turn_away(mut stream: TcpStream, clock: &dyn Clock) {
    const NO_ROOM: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let told = async {
        stream.write_all(NO_ROOM).await?;
        stream.shutdown().await?;
        // What the client has sent has to be read, or its system drops the answer.
        let mut sink = [0; 4096];
        while stream.read(&mut sink).await? > 0 {}
        io::Result::Ok(())
    };
    tokio::select! {
        // It goes away either way.
        _told = told => {}
        () = clock.sleep_until(clock.now() + limits::TURN_AWAY_WAIT) => {}
    }
}
