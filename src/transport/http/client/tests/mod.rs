//! The stack against real sockets on the loopback device, whose other side is written out byte by byte.

mod addresses;
mod codings;
mod exchanges;
mod proxies;
mod support;
mod trust;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZstdEncoder};
use futures_util::StreamExt;
use futures_util::future::join_all;
use http::{HeaderMap, Method, StatusCode};
use reqwest::dns::{Addrs, Name, Resolving};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::settings::Proxy;
use super::*;
use crate::error::ErrorCode;
use crate::host::http::Body;
