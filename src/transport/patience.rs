//! A connection whose other side has to take what is written to it, sooner or later: one that takes nothing for too long
//! fails. Knows nothing of what is written.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::host::{Clock, Sleep};

pub(crate) struct Patient<S> {
    io: S,
    clock: Arc<dyn Clock>,
    /// How long nothing may be taken; nothing for ever.
    limit: Option<Duration>,
    /// Until when something has to be taken.
    until: Option<Sleep>,
}

impl<S> Patient<S> {
    pub(crate) fn new(io: S, limit: Option<Duration>, clock: Arc<dyn Clock>) -> Self {
        Self {
            io,
            clock,
            limit,
            until: None,
        }
    }

    /// What became of a write: one that has to wait does so for a while.
    fn waited<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        if self.until.is_none() {
            let until = self.limit.and_then(|limit| self.clock.now().checked_add(limit));
            self.until = until.map(|until| self.clock.sleep_until(until));
        }
        let Some(until) = &mut self.until else {
            return Poll::Pending;
        };
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.waited(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bytes);
        self.waited(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.waited(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.io).poll_shutdown(cx);
        self.waited(ended, cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;
    use crate::server::testing::MovedClock;

    #[tokio::test]
    async fn whoever_takes_something_now_and_then_is_waited_for() {
        let clock = Arc::new(MovedClock::new());
        let (ours, mut theirs) = duplex(4);
        let shared: Arc<dyn Clock> = Arc::<MovedClock>::clone(&clock);
        let mut patient = Patient::new(ours, Some(Duration::from_secs(10)), shared);
        let mut cx = Context::from_waker(Waker::noop());
        let mut write = || {
            Pin::new(&mut patient)
                .poll_write(&mut cx, b"more")
                .map_err(|error| error.kind())
        };
        assert_eq!(write(), Poll::Ready(Ok(4)));
        for _ in 0..3 {
            assert_eq!(write(), Poll::Pending);
            clock.advance(Duration::from_secs(9));
            assert_eq!(write(), Poll::Pending);
            theirs.read_exact(&mut [0; 4]).await.unwrap();
            assert_eq!(write(), Poll::Ready(Ok(4)));
        }
        assert_eq!(write(), Poll::Pending);
        clock.advance(Duration::from_secs(10));
        assert_eq!(write(), Poll::Ready(Err(io::ErrorKind::TimedOut)));
    }
}
