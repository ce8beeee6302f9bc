//! Who is in a session. The system does not tell, so that all processes are looked at: once for everybody who asks at the
//! same time, as the servers of a toolset do that are closed together.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;
use tokio::sync::Mutex;

/// How many have asked.
static ASKED: AtomicU64 = AtomicU64::new(0);
static SEEN: Mutex<Seen> = Mutex::const_new(Seen {
    serves: 0,
    sessions: None,
});

struct Seen {
    /// Whoever asked before this many others had, asked before the look began.
    serves: u64,
    sessions: Option<HashMap<i32, Vec<Pid>>>,
}

/// The members of a session that run.
pub(super) async fn members(leader: Pid) -> Vec<Pid> {
    let ticket = ASKED.fetch_add(1, Ordering::Relaxed);
    let mut seen = SEEN.lock().await;
    if seen.serves <= ticket {
        seen.serves = ASKED.load(Ordering::Relaxed);
        seen.sessions = tokio::task::spawn_blocking(look).await.ok();
    }
    let sessions = seen.sessions.as_ref();
    sessions
        .and_then(|sessions| sessions.get(&leader.as_raw_pid()))
        .cloned()
        .unwrap_or_default()
}

fn look() -> HashMap<i32, Vec<Pid>> {
    let mut sessions: HashMap<i32, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| Pid::from_raw(name.parse().ok()?)) else {
            continue;
        };
        // Its name is of its own choice, and need not be text.
        let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
        if let Some(session) = session(&String::from_utf8_lossy(&stat)) {
            sessions.entry(session).or_default().push(pid);
        }
    }
    sessions
}

/// The session of a process that runs, by its line in `/proc`.
fn session(stat: &str) -> Option<i32> {
    // Behind the name, which may hold anything: the state, the parent, the group, the session.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let runs = !matches!(fields.next()?, "Z" | "X");
    let session = fields.nth(2)?.parse().ok()?;
    runs.then_some(session)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_session_is_read_behind_any_name() {
        assert_eq!(session("7 (a) S 1 2 3) ) S 10 20 30 0 -1"), Some(30));
        assert_eq!(session("7 (sh) Z 10 20 30 0 -1"), None);
        assert_eq!(session("7 (sh) S 10"), None);
        assert_eq!(session(""), None);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a child of the test's own, in real time")]
    async fn everybody_who_asks_is_answered_with_what_was_true_after_the_question() {
        // A session of the test's own: the one that it runs in may lie outside its namespace, and has no number then.
        let mut child = tokio::process::Command::new("setsid")
            .args(["sleep", "60"])
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let leader = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        let has_begun = async {
            while !members(leader).await.contains(&leader) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), has_begun).await.unwrap();

        let answers = futures_util::future::join_all((0..50).map(|_| members(leader))).await;
        assert!(answers.iter().all(|pids| pids == &[leader]));

        child.kill().await.unwrap();
        assert!(members(leader).await.is_empty());
    }
}
