//! The shell by itself, on a line of the test's own. What a host leaves behind when it is killed is shown from outside.

use std::process::Child;

use super::*;

struct Watched {
    shell: Child,
    line: Option<UnixStream>,
}

impl Watched {
    fn new() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        Self {
            shell: command(theirs).spawn().unwrap(),
            line: Some(ours),
        }
    }

    fn say(&mut self, text: &str) {
        self.line.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn host_ends(mut self) {
        drop(self.line.take());
        self.shell.wait().unwrap();
    }
}

/// A shell that leads a session of its own, and says a line once it runs. It ends with its input.
fn leader(script: &str) -> Child {
    #[expect(clippy::disallowed_methods, reason = "a child of the test's own")]
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    #[expect(unsafe_code, reason = "one system call is all that happens between fork and exec")]
    unsafe {
        command.pre_exec(|| setsid().map(drop).map_err(io::Error::from));
    }
    command.spawn().unwrap()
}

fn first_line(child: &mut Child) -> String {
    use std::io::BufRead as _;

    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    io::BufReader::new(stdout).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

fn ended_by(child: &mut Child) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;

    drop(child.stdin.take());
    child.wait().unwrap().signal()
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn what_was_entered_and_not_struck_out_is_killed_when_the_line_ends() {
    let mut watched = Watched::new();
    let mut children: Vec<_> = (0..4).map(|_| leader("read line")).collect();
    let ids: Vec<_> = children.iter().map(Child::id).collect();
    watched.say(&format!("+ 1 {}\n+ 2 {}\n", ids[0], ids[1]));
    watched.say(&format!("+ 2 {}\n+ 13 {}\n+ 3 {}\n- 2\n- 7\n", ids[1], ids[2], ids[3]));
    watched.say(&format!("- 1\n+ 1 {}\n", ids[0]));
    watched.host_ends();
    let ends: Vec<_> = children.iter_mut().map(ended_by).collect();
    assert_eq!(ends, [Some(9), None, Some(9), Some(9)]);
}

#[test]
fn nothing_is_killed_when_everything_was_struck_out() {
    let mut watched = Watched::new();
    let mut child = leader("read line");
    watched.say(&format!("+ 1 {}\n+ 2 {}\n- 2\n- 1\n", child.id(), child.id()));
    watched.host_ends();
    assert_eq!(ended_by(&mut child), None);
}

#[test]
fn signals_that_end_the_host_do_not_end_it_before() {
    let mut watched = Watched::new();
    let mut child = leader("read line");
    watched.say(&format!("+ 1 {}\n", child.id()));
    let shell = Pid::from_raw(watched.shell.id().cast_signed()).unwrap();
    // Not before it has read that it ignores them: what it was told is read after that.
    while !std::fs::read_to_string(format!("/proc/{}/status", watched.shell.id()))
        .unwrap_or_default()
        .lines()
        .any(|line| line.starts_with("SigIgn:") && line.ends_with("5007"))
        && cfg!(target_os = "linux")
    {
        thread::yield_now();
    }
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        kill_process(shell, signal).unwrap();
    }
    watched.host_ends();
    assert_eq!(ended_by(&mut child), Some(9));
}

#[cfg(target_os = "linux")]
#[test]
fn who_left_the_group_but_not_the_session_is_killed_too() {
    let mut watched = Watched::new();
    let mut child = leader("set -m; sleep 300 >&2 & echo $!; read line");
    let job = first_line(&mut child);
    watched.say(&format!("+ 1 {}\n", child.id()));
    assert!(runs(&job));
    watched.host_ends();
    assert_eq!(ended_by(&mut child), Some(9));
    while runs(&job) {
        thread::yield_now();
    }
}

#[test]
fn one_that_somebody_ends_is_replaced() {
    let entry = Entry::new().unwrap();
    let first = state().running().unwrap().clone();
    end(first.pid);
    loop {
        if state().running.as_ref().is_some_and(|running| running.pid != first.pid) {
            break;
        }
        thread::yield_now();
    }
    drop(entry);
}
