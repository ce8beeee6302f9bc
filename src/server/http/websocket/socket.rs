//! One WebSocket, read and written by one task: neither waits for the other.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{Sink as _, Stream as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message, error::ProtocolError};

use super::lane::{Lane, Taken};
use crate::limits;

pub(super) struct Socket<S> {
    stream: WebSocketStream<Metered<S>>,
    lane: Arc<Lane>,
    /// Whether something was handed over that is not written to its end.
    is_writing: bool,
    is_ping_due: bool,
    /// How many frames came that were whole.
    frames: u64,
}

/// What happened on it.
#[derive(Debug)]
pub(super) enum Event {
    Text(String),
    Pong,
    /// Another control frame, which is answered already.
    Control,
    End(End),
}

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The other side is gone.
    Gone,
    /// The other side closes it.
    Closed,
    /// It breaks the rules.
    Breach(Breach),
    /// It reads too slowly.
    Slow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    Binary,
    TooLong,
    NotText,
    Protocol,
}

/// How far it got, for telling a slow side from a dead one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    read: u64,
    written: u64,
    frames: u64,
}

impl Progress {
    /// Whether a frame is on its way since then, and not here yet.
    pub(super) fn is_within_a_frame(self, since: Self) -> bool {
        self.read > since.read && self.frames == since.frames
    }

    pub(super) fn has_written(self, since: Self) -> bool {
        self.written > since.written
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) async fn new(io: S, lane: Arc<Lane>, max_message: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(limits::WEBSOCKET_READ_BYTES)
            .write_buffer_size(limits::WEBSOCKET_WRITE_BYTES)
            // What waits is bounded by the lane.
            .max_write_buffer_size(usize::MAX)
            .max_message_size(Some(max_message))
            .max_frame_size(Some(max_message.max(MAX_CONTROL_BYTES)));
        let metered = Metered {
            io,
            read: 0,
            written: 0,
        };
        Self {
            stream: WebSocketStream::from_raw_socket(metered, Role::Server, Some(config)).await,
            lane,
            is_writing: false,
            is_ping_due: false,
            frames: 0,
        }
    }

    pub(super) fn ping(&mut self) {
        self.is_ping_due = true;
    }

    pub(super) fn is_writing(&self) -> bool {
        self.is_writing
    }

    pub(super) fn progress(&self) -> Progress {
        let metered = self.stream.get_ref();
        Progress {
            read: metered.read,
            written: metered.written,
            frames: self.frames,
        }
    }

    /// Writes what there is to write, as far as the other side takes it.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Option<End> {
        loop {
            if self.lane.is_flooded(cx) {
                return Some(End::Slow);
            }
            match Pin::new(&mut self.stream).poll_ready(cx) {
                Poll::Pending => return None,
                Poll::Ready(Err(_)) => return Some(End::Gone),
                Poll::Ready(Ok(())) => {}
            }
            let message = if self.is_ping_due {
                self.is_ping_due = false;
                Message::Ping(Bytes::new())
            } else {
                match self.lane.poll_take(cx) {
                    Poll::Ready(Taken::Message(text)) => Message::text(text),
                    Poll::Ready(Taken::Flooded) => return Some(End::Slow),
                    Poll::Pending if !self.is_writing => return None,
                    Poll::Pending => match Pin::new(&mut self.stream).poll_flush(cx) {
                        Poll::Pending => return None,
                        Poll::Ready(Err(_)) => return Some(End::Gone),
                        Poll::Ready(Ok(())) => {
                            self.is_writing = false;
                            return None;
                        }
                    },
                }
            };
            self.is_writing = true;
            if Pin::new(&mut self.stream).start_send(message).is_err() {
                return Some(End::Gone);
            }
        }
    }

    /// What came next.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let message = match ready!(Pin::new(&mut self.stream).poll_next(cx)) {
            None => return Poll::Ready(Event::End(End::Gone)),
            Some(Err(error)) => return Poll::Ready(Event::End(end_of(&error))),
            Some(Ok(message)) => message,
        };
        self.frames += 1;
        Poll::Ready(match message {
            Message::Text(text) => Event::Text(text.to_string()),
            Message::Pong(_) => Event::Pong,
            Message::Ping(_) | Message::Frame(_) => Event::Control,
            Message::Binary(_) => Event::End(End::Breach(Breach::Binary)),
            Message::Close(_) => Event::End(End::Closed),
        })
    }

    /// Writes what is on its way to its end.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        Pin::new(&mut self.stream).poll_flush(cx).map_err(|_| End::Gone)
    }

    /// Says that it is over. To be written to its end by `poll_flush`.
    pub(super) fn close(&mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: reason.into(),
        };
        // One that cannot be sent is not needed any more.
        let _sent = Pin::new(&mut self.stream).start_send(Message::Close(Some(frame)));
    }

    /// The bytes below, for what is not a matter of frames any more.
    pub(super) fn io(&mut self) -> &mut S {
        &mut self.stream.get_mut().io
    }
}

/// The payload of a control frame has so many bytes at most, whatever a message may have (RFC 6455, section 5.5).
const MAX_CONTROL_BYTES: usize = 125;

fn end_of(error: &Error) -> End {
    match error {
        Error::Capacity(_) => End::Breach(Breach::TooLong),
        Error::Utf8(_) => End::Breach(Breach::NotText),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Error::Protocol(_) => End::Breach(Breach::Protocol),
        _ => End::Gone,
    }
}

/// Counts what goes through.
pub(super) struct Metered<S> {
    io: S,
    read: u64,
    written: u64,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.read += count(buf.filled().len().saturating_sub(before));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.written += count(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, bufs))?;
        self.written += count(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    async fn socket(room: usize) -> (Socket<DuplexStream>, DuplexStream, Arc<Lane>) {
        let (ours, theirs) = duplex(room);
        let lane = Arc::new(Lane::new(100));
        (Socket::new(ours, Arc::clone(&lane), 1000).await, theirs, lane)
    }

    #[tokio::test]
    async fn a_long_message_on_its_way_is_told_from_silence() {
        let (mut socket, mut theirs, _lane) = socket(4096).await;
        let mut cx = Context::from_waker(Waker::noop());
        let before = socket.progress();
        assert!(socket.poll_read(&mut cx).is_pending());
        assert!(!socket.progress().is_within_a_frame(before));

        theirs.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h']).await.unwrap();
        assert!(socket.poll_read(&mut cx).is_pending());
        assert!(socket.progress().is_within_a_frame(before));
        theirs.write_all(b"i").await.unwrap();
        assert!(matches!(socket.poll_read(&mut cx), Poll::Ready(Event::Text(text)) if text == "hi"));
        assert!(!socket.progress().is_within_a_frame(before));
    }

    #[tokio::test]
    async fn one_that_is_not_read_is_told_from_one_that_is_read_slowly() {
        let (mut socket, mut theirs, lane) = socket(16).await;
        let mut cx = Context::from_waker(Waker::noop());
        lane.push("x".repeat(limits::WEBSOCKET_WRITE_BYTES + 1), None);
        assert_eq!(socket.poll_write(&mut cx), None);
        assert!(socket.is_writing());
        let stuck = socket.progress();
        assert_eq!(socket.poll_write(&mut cx), None);
        assert!(!socket.progress().has_written(stuck));
        let mut sink = [0; 16];
        tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut sink)
            .await
            .unwrap();
        assert_eq!(socket.poll_write(&mut cx), None);
        assert!(socket.is_writing() && socket.progress().has_written(stuck));

        // What waits behind the message that is being written is bounded.
        lane.push("y".repeat(101), None);
        assert_eq!(socket.poll_write(&mut cx), None);
        lane.push("z".to_owned(), None);
        assert_eq!(socket.poll_write(&mut cx), Some(End::Slow));
    }
}
