//! Closing a toolset at every stage of its life: whatever was started is gone when `close` returns, and everybody who
//! waited was told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::client::call::Call;
use crate::client::options::{Options, ServerConfig};
use crate::client::toolset::Toolset;
use crate::diagnostic::Diagnostic;
use crate::error::ErrorCode;
use crate::host::{Answer, CallEnd, CallId, Change, Listener, Question};
use crate::json;
use crate::transport::clock::SystemClock;

#[derive(Default)]
struct Heard {
    ends: Mutex<Vec<String>>,
    diagnostics: Mutex<Vec<Diagnostic>>,
}

impl Listener for Heard {
    fn settled(&self, call: CallId, end: CallEnd) {
        let end = match end {
            CallEnd::Value(text) => text,
            CallEnd::Failed(error) => format!("{:?}", error.code()),
            CallEnd::Aborted => "aborted".to_owned(),
        };
        self.ends.lock().unwrap().push(format!("{call} {end}"));
    }

    fn progress(&self, _call: CallId, _params: String) {}

    fn ask(&self, _question: Question) -> Answer {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn log(&self, _server: &str, _params: String) {}

    fn changed(&self, _server: &str, _change: Change) {}

    fn updated(&self, _server: &str, _subscription: &str, _uri: &str) {}

    fn unusable(&self, _handler: &str, _problem: &str) {}

    fn status(&self, _text: String) {}

    fn diagnostic(&self, diagnostic: Diagnostic) {
        self.diagnostics.lock().unwrap().push(diagnostic);
    }

    fn catalogue_changed(&self) {}

    fn stderr(&self, _server: &str, _line: String) {}
}

/// A toolset over one shell script, which writes its own process id to a file first.
struct Story {
    toolset: Toolset,
    heard: Arc<Heard>,
    pid_file: std::path::PathBuf,
}

impl Story {
    fn new(name: &str, script: &str) -> Self {
        let pid_file = std::env::temp_dir().join(format!("espalier-{name}-{}", std::process::id()));
        let script = format!("echo $$ > '{}'; {script}", pid_file.display());
        let servers = format!(
            "[{{\"type\":\"stdio\",\"name\":\"s\",\"command\":\"/bin/sh\",\"args\":[\"-c\",{}]}}]",
            json::quote(&script)
        );
        let heard = Arc::new(Heard::default());
        let listener: Arc<dyn Listener> = Arc::<Heard>::clone(&heard);
        let toolset = Toolset::new(
            ServerConfig::parse_all(&servers).unwrap(),
            Options::parse("{}", true).unwrap(),
            None,
            listener,
            Arc::new(SystemClock),
            None,
            Handle::current(),
        );
        Self {
            toolset,
            heard,
            pid_file,
        }
    }

    /// The child's process id, once it runs.
    async fn pid(&self) -> rustix::process::Pid {
        loop {
            if let Some(pid) = self.written_pid() {
                return pid;
            }
            tokio::task::yield_now().await;
        }
    }

    fn written_pid(&self) -> Option<rustix::process::Pid> {
        let written = std::fs::read_to_string(&self.pid_file).ok()?;
        written.trim().parse().ok().and_then(rustix::process::Pid::from_raw)
    }

    fn call(&self, id: CallId, tool: &str) {
        self.toolset.call(Call {
            id,
            tool: tool.to_owned(),
            arguments: "{}".to_owned(),
            timeout: None,
            report_progress: false,
            awaits_credential: false,
        });
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.pid_file));
    }
}

fn lives(pid: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(pid).is_ok()
}

const SERVER: &str = r#"
read line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'
read line; read line; echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}'
while read line; do :; done
"#;

#[tokio::test]
async fn while_connecting() {
    let story = Story::new("connecting", "while read line; do :; done");
    let toolset = story.toolset.clone();
    let connecting = tokio::spawn(async move { toolset.connect().await });
    let pid = story.pid().await;
    story.toolset.close().await;
    assert!(!lives(pid));
    assert_eq!(connecting.await.unwrap().unwrap_err().code(), ErrorCode::Closed);
    story.call(7, "s__t");
    assert_eq!(*story.heard.ends.lock().unwrap(), ["7 Closed"]);
}

#[tokio::test]
async fn during_a_call_and_after_it() {
    let story = Story::new("calling", SERVER);
    story.toolset.connect().await.unwrap();
    let catalog = story.toolset.catalogue().unwrap();
    assert!(
        catalog.contains("\"s__t\""),
        "{catalog} {:?}",
        story.heard.diagnostics.lock().unwrap()
    );
    let pid = story.pid().await;
    story.call(1, "s__t");
    story.call(2, "no_such_tool");
    story.toolset.close().await;
    assert!(!lives(pid));
    story.call(3, "s__t");
    assert_eq!(
        *story.heard.ends.lock().unwrap(),
        ["2 InvalidArguments", "1 Closed", "3 Closed"]
    );
    story.toolset.close().await;
    assert!(story.toolset.servers().contains("\"state\":\"closed\""));
}

#[tokio::test]
async fn at_once_for_the_end_of_the_process() {
    let story = Story::new("killing", "trap '' TERM; while :; do sleep 1; done");
    let toolset = story.toolset.clone();
    let connecting = tokio::spawn(async move { toolset.connect().await });
    let pid = story.pid().await;
    story.toolset.kill();
    let deadline = Duration::from_secs(5);
    let gone = async {
        while lives(pid) {
            tokio::task::yield_now().await;
        }
    };
    #[expect(clippy::disallowed_methods, reason = "a real child ends in real time")]
    tokio::time::timeout(deadline, gone).await.unwrap();
    assert!(connecting.await.unwrap().is_err());
}

#[tokio::test]
async fn at_any_moment_of_a_start() {
    for turns in (0..60).step_by(3) {
        let story = Story::new("starting", "while read line; do :; done");
        let toolset = story.toolset.clone();
        let connecting = tokio::spawn(async move { toolset.connect().await });
        for _ in 0..turns * turns {
            tokio::task::yield_now().await;
        }
        story.toolset.close().await;
        // It may have been stopped before it wrote its id.
        assert!(story.written_pid().is_none_or(|pid| !lives(pid)), "after {turns} turns");
        assert_eq!(connecting.await.unwrap().unwrap_err().code(), ErrorCode::Closed);
    }
}
