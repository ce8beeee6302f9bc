//! Content codings: what is asked for, and taking it off as the body is read. Nothing is decoded ahead of the reader, so
//! that a small body which grows without end costs no more than what is read of it.

use std::io;
use std::pin::Pin;

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use tokio::io::AsyncRead;
use tokio::task::coop::consume_budget;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::error::Error;
use crate::host::http::Body;
use crate::limits;

/// What we can take off, as `Accept-Encoding`.
pub(super) const ACCEPTED: &str = "gzip, br, zstd";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

/// A coding, or a stack of them, that was not asked for.
#[derive(Debug)]
pub(super) struct UnknownCoding;

impl Coding {
    /// Removes what the headers say of the coding, as it no longer holds for what the reader gets.
    pub(super) fn taken_from(headers: &mut HeaderMap) -> Result<Self, UnknownCoding> {
        let mut coding = Self::Identity;
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| UnknownCoding)?.to_ascii_lowercase();
            for name in value.split(',').map(str::trim) {
                let next = match name {
                    "" | "identity" => continue,
                    "gzip" | "x-gzip" => Self::Gzip,
                    "br" => Self::Brotli,
                    "zstd" => Self::Zstd,
                    _ => return Err(UnknownCoding),
                };
                if coding != Self::Identity {
                    return Err(UnknownCoding);
                }
                coding = next;
            }
        }
        headers.remove(CONTENT_ENCODING);
        if coding != Self::Identity {
            headers.remove(CONTENT_LENGTH);
        }
        Ok(coding)
    }

    /// The body without the coding. `failed` says in our words what an error of it means.
    pub(super) fn decoded(
        self,
        encoded: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        failed: impl Fn(io::Error) -> Error + Send + 'static,
    ) -> Body {
        if self == Self::Identity {
            return Box::pin(encoded.map_err(failed));
        }
        let decoded = stream::once(async move {
            let mut encoded = Box::pin(encoded.peekable());
            // A response without a body may name a coding all the same.
            if encoded.as_mut().peek().await.is_none() {
                return stream::empty().boxed();
            }
            ReaderStream::with_capacity(self.reader(encoded), limits::DECODED_CHUNK).boxed()
        });
        // A few bytes may be decoded for seconds. Who does that lets others have their turn, timers among them.
        let decoded = decoded.flatten().then(async |chunk| {
            consume_budget().await;
            chunk
        });
        Box::pin(decoded.map_err(failed))
    }

    fn reader(
        self,
        encoded: impl Stream<Item = io::Result<Bytes>> + Send + Unpin + 'static,
    ) -> Pin<Box<dyn AsyncRead + Send>> {
        let encoded = StreamReader::new(encoded);
        match self {
            Self::Identity => Box::pin(encoded),
            Self::Gzip => {
                let mut decoder = GzipDecoder::new(encoded);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Self::Brotli => Box::pin(BrotliDecoder::new(encoded)),
            Self::Zstd => {
                let window = DParameter::window_log_max(limits::ZSTD_WINDOW_LOG);
                let mut decoder = ZstdDecoder::with_params(encoded, &[window]);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
        }
    }
}
