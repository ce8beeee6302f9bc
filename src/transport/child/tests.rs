#![cfg(unix)]

use std::time::Duration;

use super::*;
use crate::transport::clock::SystemClock;

async fn start(script: &str) -> ChildTransport {
    let launch = Launch {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Vec::new(),
        cwd: None,
        plugin: Plugin::default(),
    };
    ChildTransport::start(
        &launch,
        1_000,
        Arc::new(SystemClock),
        Arc::default(),
        Arc::default(),
        |_| {},
    )
    .await
    .unwrap()
}

async fn failure(launch: Launch) -> String {
    match ChildTransport::start(
        &launch,
        1_000,
        Arc::new(SystemClock),
        Arc::default(),
        Arc::default(),
        |_| {},
    )
    .await
    {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    }
}

async fn messages(transport: &mut ChildTransport) -> (Vec<String>, String) {
    let mut messages = Vec::new();
    loop {
        match transport.next().await {
            Received::Message(text) => messages.push(text),
            Received::Lost(error) => return (messages, error.to_string()),
            other => messages.push(format!("{other:?}")),
        }
    }
}

fn line(text: &str) -> Outgoing {
    Outgoing {
        text: text.to_owned(),
        kind: crate::protocol::message::OutgoingKind::Answer,
    }
}

fn lives(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

/// The same without those that wait for somebody to reap them: a container's first process may not do that.
#[cfg(target_os = "linux")]
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[tokio::test]
async fn lines_go_in_and_out() {
    let mut transport = start("while read line; do echo \"got $line\"; done").await;
    transport.send(line("one"));
    transport.send(line("two"));
    assert!(matches!(transport.next().await, Received::Message(text) if text == "got one"));
    assert!(matches!(transport.next().await, Received::Message(text) if text == "got two"));
    transport.close().await;
}

#[tokio::test]
async fn a_child_that_ends_is_read_to_its_end_and_tells_how_it_ended() {
    let mut transport = start("echo last; echo 'need KEY' >&2; exit 3").await;
    let (messages, why) = messages(&mut transport).await;
    assert_eq!(messages, ["last"]);
    assert_eq!(why, "it ended with exit status 3; the end of its stderr: need KEY");
    transport.close().await;
}

#[tokio::test]
async fn a_signal_is_named() {
    let mut transport = start("kill -9 $$").await;
    assert_eq!(messages(&mut transport).await.1, "it ended with signal 9");
    transport.close().await;
}

#[expect(clippy::disallowed_methods, reason = "a real child ends in real time")]
#[tokio::test]
async fn output_that_a_grandchild_keeps_open_does_not_hide_the_death_of_the_child() {
    let mut transport = start("sleep 30 & echo $!; exit 1").await;
    let (messages, why) = tokio::time::timeout(Duration::from_secs(5), messages(&mut transport))
        .await
        .unwrap();
    assert_eq!(why, "it ended with exit status 1");
    transport.close().await;
    assert!(!lives(&messages[0]), "the grandchild was ended with the group");
}

#[tokio::test]
async fn a_child_that_closes_its_output_and_lives_on_is_lost_and_then_ended() {
    let mut transport = start("echo $$; exec >&-; sleep 30").await;
    let (messages, why) = messages(&mut transport).await;
    assert_eq!(why, "it closed its standard output");
    transport.close().await;
    assert!(!lives(&messages[0]));
}

#[tokio::test]
async fn a_child_that_ignores_every_polite_word_is_killed_with_its_children() {
    let mut transport = start(
        "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo $!; echo $$; while :; do sleep 1; done",
    )
    .await;
    let mut pids = Vec::new();
    while pids.len() < 2 {
        match transport.next().await {
            Received::Message(pid) => pids.push(pid),
            other => panic!("{other:?}"),
        }
    }
    transport.close().await;
    assert!(!pids.iter().any(|pid| lives(pid)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_left_the_group_of_the_child_but_not_its_session_is_ended_with_it() {
    let mut transport =
        start("set -m; sleep 30 & echo $!; sh -c 'trap \"\" TERM; sleep 31' & echo $!; read line").await;
    let mut pids = Vec::new();
    while pids.len() < 2 {
        match transport.next().await {
            Received::Message(pid) => pids.push(pid),
            other => panic!("{other:?}"),
        }
    }
    assert!(pids.iter().all(|pid| lives(pid)));
    transport.close().await;
    assert!(!pids.iter().any(|pid| runs(pid)));
}

#[tokio::test]
async fn a_child_that_is_blocked_on_its_output_still_hears_that_its_input_ended() {
    let transport = start("head -c 1000000 /dev/zero; cat >/dev/null").await;
    let started = SystemClock.now();
    transport.close().await;
    assert!(
        SystemClock.now() - started < limits::STOP_GRACE,
        "it was not waited for in vain"
    );
}

#[tokio::test]
async fn a_dropped_transport_leaves_no_process() {
    let mut transport = start("echo $$; sleep 30").await;
    let Received::Message(pid) = transport.next().await else {
        panic!("no pid")
    };
    drop(transport);
    let deadline = SystemClock.now() + Duration::from_secs(5);
    while lives(&pid) {
        assert!(SystemClock.now() < deadline);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing_and_its_end_is_kept() {
    let mut transport = start("head -c 4000000 /dev/zero | tr '\\0' x >&2; echo; echo done; echo end >&2").await;
    let (messages, why) = messages(&mut transport).await;
    assert_eq!(messages, ["done"]);
    assert!(why.ends_with("xend"), "{}", &why[why.len().saturating_sub(40)..]);
    assert!(why.len() < limits::STDERR_QUOTE_BYTES + 100);
    transport.close().await;
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_tells_command_from_directory() {
    let launch = |command: &str, cwd: Option<&str>| Launch {
        command: command.to_owned(),
        args: vec!["secret-argument".to_owned()],
        env: Vec::new(),
        cwd: cwd.map(ToOwned::to_owned),
        plugin: Plugin::default(),
    };
    let cases = [
        (
            launch("espalier-no-such-command", None),
            "the command `espalier-no-such-command` does not exist",
        ),
        (
            launch("/bin/sh", Some("/espalier/nowhere")),
            "its working directory `/espalier/nowhere` does not exist",
        ),
        (
            launch("/bin/sh", Some("/bin/sh")),
            "its working directory `/bin/sh` is not a directory",
        ),
        (launch("/", None), "the command `/` is not an executable file"),
        (
            Launch {
                args: vec!["a\0b".to_owned()],
                ..launch("/bin/sh", None)
            },
            "the command `/bin/sh` cannot be started: its arguments or environment hold a NUL",
        ),
    ];
    for (launch, expected) in cases {
        assert_eq!(failure(launch).await, expected);
    }
}

#[tokio::test]
async fn the_last_words_of_a_child_that_is_closed_are_offered_without_a_line_end() {
    let launch = Launch {
        command: "/bin/sh".to_owned(),
        args: vec![
            "-c".to_owned(),
            "while read line; do :; done; printf 'one\nrest' >&2".to_owned(),
        ],
        env: Vec::new(),
        cwd: None,
        plugin: Plugin::default(),
    };
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let transport = ChildTransport::start(
        &launch,
        1_000,
        Arc::new(SystemClock),
        Arc::default(),
        Arc::default(),
        move |line| drop(tell.send(line)),
    )
    .await
    .unwrap();
    transport.close().await;
    assert_eq!(told.recv().await.as_deref(), Some("one"));
    assert_eq!(told.recv().await.as_deref(), Some("rest"));
}
