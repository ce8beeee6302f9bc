//! The standard input and output of this process, as a server has them: bytes in from one thread, bytes out from another,
//! because files, terminals and pipes cannot all be waited for in the same way. Knows no message.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::outlet::Outlet;
use crate::limits;

/// What the process reads. Dropped, it reads no more; what was not read stays for whoever comes next.
pub(crate) struct Input {
    chunks: mpsc::Receiver<Vec<u8>>,
    _stop: sys::Stop,
}

impl Input {
    /// # Errors
    /// When standard input is closed, or there are no more threads.
    pub(crate) fn open() -> io::Result<Self> {
        let (mut stdin, stop, stopped) = sys::stdin()?;
        let (sender, chunks) = mpsc::channel(1);
        thread::Builder::new()
            .name("espalier-stdin".to_owned())
            .spawn(move || {
                let mut buffer = vec![0; limits::STDIN_CHUNK_BYTES];
                while stopped.wait_for_input() {
                    match stdin.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(count) => {
                            let chunk = buffer.get(..count).unwrap_or_default().to_vec();
                            if sender.blocking_send(chunk).is_err() {
                                return;
                            }
                        }
                        Err(error) if is_passing(&error) => {}
                        // As good as its end: nobody can say more.
                        Err(_) => return,
                    }
                }
            })?;
        Ok(Self { chunks, _stop: stop })
    }

    /// What came next; nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        self.chunks.recv().await
    }
}

/// Writes what comes out of the outlet until it is shut.
///
/// # Errors
/// When standard output is closed, or there are no more threads.
pub(crate) fn write(outlet: Arc<Outlet>, runtime: Handle) -> io::Result<()> {
    let mut stdout = sys::stdout()?;
    thread::Builder::new()
        .name("espalier-stdout".to_owned())
        .spawn(move || {
            while let Some(bytes) = runtime.block_on(outlet.take()) {
                if write_all(&mut stdout, &bytes).is_err() {
                    outlet.break_off();
                    return;
                }
                outlet.written();
            }
        })?;
    Ok(())
}

/// A descriptor that somebody made non-blocking is waited for.
fn write_all(stdout: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stdout.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => sys::wait_until_writable(stdout),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(unix)]
mod sys {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, poll};

    /// Closed, it ends the wait for input.
    pub(super) struct Stop {
        _writer: OwnedFd,
    }

    pub(super) struct Stopped {
        stdin: OwnedFd,
        reader: OwnedFd,
    }

    impl Stopped {
        /// False when no more input is wanted.
        pub(super) fn wait_for_input(&self) -> bool {
            loop {
                let mut descriptors = [
                    PollFd::new(&self.reader, PollFlags::IN),
                    PollFd::new(&self.stdin, PollFlags::IN),
                ];
                let polled = poll(&mut descriptors, None);
                let [stop, stdin] = &descriptors;
                match polled {
                    Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return false,
                    Ok(_) if !stop.revents().is_empty() => return false,
                    Ok(_) if !stdin.revents().is_empty() => return true,
                    Ok(_) => {}
                }
            }
        }
    }

    pub(super) fn stdin() -> io::Result<(File, Stop, Stopped)> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let stopped = Stopped {
            stdin: stdin.try_clone()?,
            reader,
        };
        Ok((File::from(stdin), Stop { _writer: writer }, stopped))
    }

    pub(super) fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }

    pub(super) fn wait_until_writable(stdout: &File) {
        // Whatever comes of it, the next write tells.
        let _told = poll(&mut [PollFd::new(stdout, PollFlags::OUT)], None);
    }
}

#[cfg(windows)]
mod sys {
    use std::fs::File;
    use std::io;
    use std::os::windows::io::AsHandle;
    use std::thread;

    /// A read that has begun cannot be taken back here: what it brings is lost with whoever asked for it.
    pub(super) struct Stop;

    pub(super) struct Stopped;

    impl Stopped {
        pub(super) fn wait_for_input(&self) -> bool {
            true
        }
    }

    pub(super) fn stdin() -> io::Result<(File, Stop, Stopped)> {
        let stdin = io::stdin().as_handle().try_clone_to_owned()?;
        Ok((File::from(stdin), Stop, Stopped))
    }

    pub(super) fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
    }

    pub(super) fn wait_until_writable(_stdout: &File) {
        thread::yield_now();
    }
}
