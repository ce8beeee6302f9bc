//! Every number of the crate: defaults, caps and timeouts, each with its unit, its meaning and the rule it comes from.
//! No other module holds a literal limit; the facade reads what it needs from the binary.

use std::time::Duration;

use crate::error::{Error, ErrorCode, Result};

// Client: time.

/// How long credentials, connect, handshake and complete listing of one server may take together, and one call
/// (seed, "`McpOptions`": `timeoutMs`, 60,000 ms).
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a child may take to leave after its standard input was closed, and again after SIGTERM
/// (client specification, section 10).
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long a child that ended may leave its output pipe open before its calls are failed. A grandchild can hold the
/// pipe for ever, and what the child wrote last must still be read.
pub(crate) const EXIT_DRAIN: Duration = Duration::from_millis(200);
/// How long a child whose output ended may take to be reaped before it counts as one that closed its output and lives on.
pub(crate) const EXIT_STATUS_WAIT: Duration = Duration::from_millis(200);
/// How long the end of a process waits for a child that is being started just then, in order to kill it.
pub(crate) const LAST_START_WAIT: Duration = Duration::from_secs(1);
/// How often a child that died is started again within `CHILD_RESTART_WINDOW` (client specification, section 10).
pub(crate) const MAX_CHILD_RESTARTS: usize = 3;
pub(crate) const CHILD_RESTART_WINDOW: Duration = Duration::from_secs(60);
/// How long a remote server is left alone after it could not be brought up again: calls fail meanwhile with the same cause.
pub(crate) const REVIVAL_PAUSE: Duration = Duration::from_millis(500);
/// How often a process group whose leader is gone is looked at until it is empty.
pub(crate) const GROUP_POLL: Duration = Duration::from_millis(10);
/// The same for who left the group and not its session; each look is one at all processes of the system.
pub(crate) const STRAGGLER_POLL: Duration = Duration::from_millis(50);
/// How long the watchdog of the children may leave what it is told unread before it counts as dead.
pub(crate) const WATCHDOG_PATIENCE: Duration = Duration::from_secs(1);
/// How many watchdogs that somebody else ended are replaced at once; after that, with the next child that starts.
pub(crate) const MAX_REPLACED_WATCHDOGS: u32 = 100;
/// A repeated `protocol-violation` of one kind and server is reported once in this time (client specification, section 3).
pub(crate) const VIOLATION_INTERVAL: Duration = Duration::from_secs(60);
/// A server that says that its tools changed is listed again at most once in this time (client specification, section 8).
pub(crate) const RELIST_INTERVAL: Duration = Duration::from_secs(1);
/// The longest timeout kept as a point in time; anything above it is as good as none and would overflow clocks.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How long a cut event stream is left alone before it is taken up again, unless the server says otherwise (client
/// specification, section 5).
pub(crate) const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// How long the body of a failure is waited for, which may say more than its status.
pub(crate) const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);
/// How long a notification over HTTP+SSE waits until the requests before it were taken.
pub(crate) const POST_ORDER_WAIT: Duration = Duration::from_secs(1);
/// The least that is waited before a request is sent again or a stream opened again, whatever the server asks for.
pub(crate) const SHORTEST_RETRY: Duration = Duration::from_millis(100);
/// The most that is waited before a request is sent again; its own time limit ends it before, unless it has none.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest such time that a server may ask for.
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// How often in a row the stream that a server offers may fail before it is given up.
pub(crate) const MAX_STREAM_FAILURES: u32 = 8;

/// How often the wait between two tries doubles.
pub(crate) const MAX_BACKOFF_DOUBLINGS: u32 = 5;
/// By what part of itself such a wait may be longer, by chance.
pub(crate) const BACKOFF_JITTER: f64 = 0.25;
/// After how long an open subscription counts as one that did not fail.
pub(crate) const STEADY_SUBSCRIPTION: Duration = Duration::from_secs(60);
/// The longest that a result is used again, whatever the server says.
pub(crate) const LONGEST_CACHED: Duration = Duration::from_secs(24 * 60 * 60);

// Client: sizes and counts.

/// How many results of one server are kept for using them again.
pub(crate) const MAX_CACHED_RESULTS: usize = 256;
/// How many bytes they may take together.
pub(crate) const MAX_CACHED_BYTES: usize = 16 * 1024 * 1024;

/// How many messages of a remote server may wait to be handled; its replies are read no further meanwhile.
pub(crate) const MAX_QUEUED_MESSAGES: usize = 256;
/// Of how many remote servers the era is remembered.
pub(crate) const MAX_REMEMBERED_ERAS: usize = 10_000;
/// How many requests to one server may have a connection each; the next ones wait for one of them to end.
pub(crate) const MAX_OPEN_EXCHANGES: usize = 1_000;
/// How many notifications and answers may be on their way to one server that does not take them; more are dropped.
pub(crate) const MAX_QUIET_EXCHANGES: usize = 256;
/// How many exchanges are kept before those that ended are let go of.
pub(crate) const EXCHANGES_BEFORE_REAPING: usize = 128;

/// How many servers connect at the same time (client specification, section 4).
pub(crate) const DEFAULT_MAX_PARALLEL_CONNECTS: u32 = 16;
/// How many tools one server may list (client specification, section 4).
pub(crate) const DEFAULT_MAX_TOOLS: u32 = 10_000;
/// How many bytes the complete listing of one server may take (client specification, section 4).
pub(crate) const DEFAULT_MAX_CATALOG_BYTES: u64 = 64 * MIB;
/// How many bytes one incoming message may take (client specification, sections 5 and 10).
pub(crate) const DEFAULT_MAX_MESSAGE_BYTES: u64 = 64 * MIB;
/// How much may wait to be written to one server that does not read; a call beyond it is refused.
pub(crate) const MAX_UNSENT_BYTES: usize = 64 * 1024 * 1024;
/// How many calls may be under way on one connection at once; one more is refused.
pub(crate) const MAX_CALLS_IN_FLIGHT: usize = 65_536;
/// How many questions of one server may wait for their answers; more are refused.
pub(crate) const MAX_OPEN_QUESTIONS: usize = 64;
/// How often one request may be answered with questions (protocol, 7.17: interoperable clients stop at 10).
pub(crate) const MAX_INPUT_ROUNDS: u32 = 10;
/// How many commands the driver takes from its queue in one turn.
pub(crate) const COMMANDS_PER_TURN: usize = 256;
/// How many bytes one read from a child asks for: the usual capacity of a pipe.
pub(crate) const READ_CHUNK: usize = 64 * 1024;
/// The longest id or type of an event in an event stream: an id comes back in a header, and servers refuse long ones.
pub(crate) const MAX_EVENT_FIELD_BYTES: usize = 4 * 1024;
/// The longest session id that is sent back to its server: about what HTTP servers take for all headers together.
pub(crate) const MAX_SESSION_ID_BYTES: usize = 8 * 1024;
/// How many arguments of one tool may be repeated in headers: servers take about a hundred headers in all.
pub(crate) const MAX_PARAM_HEADERS: usize = 64;
/// How much of a child's standard error is kept for diagnostics (client specification, section 10).
pub(crate) const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// How much of that tail a message quotes.
pub(crate) const STDERR_QUOTE_BYTES: usize = 2 * 1024;
/// The longest line of standard error that is offered in one piece.
pub(crate) const STDERR_LINE_BYTES: usize = 64 * 1024;
/// How many lines of standard error may wait for the JavaScript thread; more are dropped.
pub(crate) const MAX_QUEUED_STDERR_LINES: usize = 1_024;
/// How many log messages of servers may wait for the JavaScript thread; more are dropped.
pub(crate) const MAX_QUEUED_LOGS: usize = 1_024;
/// How many changes of servers may wait for the JavaScript thread; more are dropped.
pub(crate) const MAX_QUEUED_CHANGES: usize = 4_096;
/// How many progress notifications may wait for the JavaScript thread; more are dropped.
pub(crate) const MAX_QUEUED_PROGRESS: usize = 4_096;
/// How many diagnostics may wait for the JavaScript thread; more are dropped.
pub(crate) const MAX_QUEUED_DIAGNOSTICS: usize = 4_096;
/// How many latencies per server the percentiles are taken from: the most recent ones.
pub(crate) const LATENCY_SAMPLES: usize = 1_024;
/// How many names of tools that are gone are remembered, so that a call of one says so.
pub(crate) const MAX_WITHDRAWN_NAMES: usize = 10_000;
/// A configured value shorter than this is not looked for in a server's text: it would blank out ordinary words
/// (client specification, section 3).
pub(crate) const REDACTED_VALUE_MIN_CHARS: usize = 8;

/// The longest output schema that results are checked against; a longer one checks nothing.
pub(crate) const MAX_OUTPUT_SCHEMA_BYTES: usize = 128 * 1024;
/// How many schemas the schemas of one output schema may lead to, each counted as often as it is reached without
/// descending into the value.
pub(crate) const MAX_OUTPUT_SCHEMA_EXPANSION: u64 = 250_000;
/// How many patterns one output schema may hold.
pub(crate) const MAX_OUTPUT_SCHEMA_PATTERNS: usize = 500;
/// How many states the patterns of one output schema may have together.
pub(crate) const MAX_OUTPUT_SCHEMA_PATTERN_STATES: u64 = 20_000;
/// How many bytes one compiled pattern may take.
pub(crate) const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// How many schemas the compiler may enter on top of each other: each takes some KiB of a stack that cannot grow.
pub(crate) const MAX_OUTPUT_SCHEMA_NESTING: u64 = 200;
/// How many schemas may be entered on top of each other while one result is checked, for the same reason.
pub(crate) const MAX_OUTPUT_CHECK_NESTING: u64 = 2_000;
/// How many steps the check of one result may take: about ten nanoseconds each.
pub(crate) const MAX_OUTPUT_CHECK_STEPS: u64 = 10_000_000;
/// How many steps it may take to say where a result does not fit. Each may leave an error behind, so this bounds memory.
pub(crate) const MAX_OUTPUT_EXPLAIN_STEPS: u64 = 50_000;
/// How much of what does not fit is told.
pub(crate) const MAX_OUTPUT_PROBLEM_CHARS: usize = 500;

/// The longest name that a listed tool may have; a longer one is no name to show to a model.
pub(crate) const MAX_LISTED_NAME_BYTES: usize = 4 * 1024;
/// How deeply a schema of a tool may be nested. What JavaScript can copy and print is deeper than any real one.
pub(crate) const MAX_SCHEMA_DEPTH: usize = 1_000;
/// How many odd entries of one listing are told of one by one.
pub(crate) const MAX_ENTRY_DIAGNOSTICS: usize = 100;
/// For how many fingerprints a thread of their own is worth while: some milliseconds of work.
pub(crate) const FINGERPRINTS_PER_THREAD: usize = 500;
/// How many drifted tools of one server are named in one diagnostic.
pub(crate) const MAX_NAMES_TOLD: usize = 1_000;
/// How much of a server's name or text a message quotes, in characters.
pub(crate) const QUOTED_CHARS: usize = 128;
/// How many messages one array of messages may hold.
pub(crate) const MAX_BATCH_MESSAGES: usize = 1_000;
/// The longest text that crosses to JavaScript in one piece: what its engines can hold in one string, with some room.
pub(crate) const MAX_TEXT_TO_JS_BYTES: usize = 500 * 1024 * 1024;
/// How many bytes of what nobody asked for may wait for the JavaScript thread, of each kind.
pub(crate) const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// How many bytes of texts go to JavaScript as one string; the job that passes it is the last in it.
pub(crate) const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// How much of a host a message shows: the longest name that DNS has.
pub(crate) const QUOTED_HOST_CHARS: usize = 253;
/// How much of a URL, without its query, a message shows.
pub(crate) const QUOTED_URL_CHARS: usize = 512;
/// How much of a header's name a message shows.
pub(crate) const QUOTED_HEADER_CHARS: usize = 64;
/// How many redirects one request follows (client specification, section 5).
pub(crate) const MAX_REDIRECTS: usize = 5;

/// How large a configuration file may be.
pub(crate) const MAX_CONFIG_BYTES: u64 = 16 * MIB;

// Client: HTTP connections.

/// How long a connection may take to stand, with its encryption; the time of the call ends it earlier where that is shorter.
pub(crate) const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an unused connection is kept. Node and uvicorn close theirs after 5 s, and a request that meets that moment is
/// lost with an unknown outcome, so that ours goes before.
pub(crate) const HTTP_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// How many unused connections to one host are kept.
pub(crate) const HTTP_MAX_IDLE_PER_HOST: usize = 128;
/// After how much silence the system asks whether the other side of a connection is still there, and how often it asks.
pub(crate) const HTTP_KEEPALIVE: Duration = Duration::from_secs(15);
/// How many such questions may go without an answer.
pub(crate) const HTTP_KEEPALIVE_PROBES: u32 = 3;
/// How many bytes of a body are decoded in one turn.
pub(crate) const DECODED_CHUNK: usize = 16 * 1024;
/// The largest window of a body in zstd, as a power of two: 8 MiB, which is what HTTP allows (RFC 9659).
pub(crate) const ZSTD_WINDOW_LOG: u32 = 23;

/// How many credentials that were given later are looked for in a server's text.
pub(crate) const LEARNED_CREDENTIALS: usize = 16;

// Stores.

/// How long a store waits for another process that holds the lock of its file.
pub(crate) const STORE_LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long it pauses between two attempts where SQLite does not wait by itself.
pub(crate) const STORE_LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How many operations of one store may wait for its file; one more is refused.
pub(crate) const MAX_QUEUED_STORE_WORK: usize = 4_096;

// Server: defaults of what its options limit (server specification, section 3).

/// How many TCP connections a transport has at once; one more is turned away before it is read.
pub(crate) const DEFAULT_MAX_CONNECTIONS: u64 = 10_000;
/// How many sessions it has at once; one more is refused.
pub(crate) const DEFAULT_MAX_SESSIONS: u64 = 10_000;
/// How many bytes one incoming message may take; nothing is kept beyond them.
pub(crate) const DEFAULT_MAX_BODY_BYTES: u64 = 4 * MIB;
/// How deeply one incoming message may be nested, the message itself counted as one.
pub(crate) const DEFAULT_MAX_JSON_DEPTH: u64 = 128;
/// How many requests of one connection are carried out at once; more of them wait.
pub(crate) const DEFAULT_MAX_CONCURRENT_REQUESTS: u64 = 64;
/// How many requests of one connection may wait; one more is refused.
pub(crate) const DEFAULT_MAX_QUEUED_REQUESTS: u64 = 256;
/// How long one request may take; 0 for as long as it likes.
pub(crate) const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// After how long without a message or a call a connection or session is given up; 0 for never.
pub(crate) const DEFAULT_SERVER_IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// How often a quiet stream shows that it is there.
pub(crate) const DEFAULT_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(30);
/// How many bytes may wait behind the message that is being written to one connection.
pub(crate) const DEFAULT_MAX_BUFFERED_BYTES: u64 = MIB;
/// How long a client may take for its headers, between two pieces of a body, and one extractor for its answer.
pub(crate) const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long running calls may go on after the server was told to stop.
pub(crate) const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages one array of a client may hold (server specification, section 3).
pub(crate) const MAX_REQUEST_BATCH: usize = 100;

/// How much is told of arguments that do not fit.
pub(crate) const MAX_ARGUMENT_PROBLEM_CHARS: usize = 500;

/// The longest URI template.
pub(crate) const MAX_URI_TEMPLATE_BYTES: usize = 2 * 1024;
/// In how many places of one template variables may stand.
pub(crate) const MAX_URI_TEMPLATE_VARIABLES: usize = 64;
/// The longest URI that is held against templates; a longer one is none of theirs.
pub(crate) const MAX_MATCHED_URI_BYTES: usize = 8 * 1024;

// Server: questions to a client that no connection remembers.

/// The shortest secret that seals their state (server specification, section 2).
pub(crate) const MIN_REQUEST_STATE_SECRET_BYTES: usize = 32;
/// The longest such state, as text: it comes back within a message of `DEFAULT_MAX_BODY_BYTES`, with new answers.
pub(crate) const MAX_REQUEST_STATE_BYTES: usize = 2 * 1024 * 1024;
/// How long it is good for: as long as a person may take to answer.
pub(crate) const REQUEST_STATE_LIFETIME: Duration = Duration::from_secs(60 * 60);

// Server: the core.

/// What a server calls itself that was given no name (server specification, section 2).
pub(crate) const DEFAULT_SERVER_NAME: &str = "mcp-server";
pub(crate) const DEFAULT_SERVER_VERSION: &str = "0.0.0";
/// How many lists are kept, each for a runtime; past that all are asked for again.
pub(crate) const MAX_KEPT_LISTS: usize = 10_000;
/// Changes that come within this time are told once (server specification, section 2).
pub(crate) const CHANGE_WINDOW: Duration = Duration::from_millis(50);
/// How many resources one connection may have subscribed to, and one subscription may name.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 1_024;
/// How many requests of one connection may listen for changes.
pub(crate) const MAX_LISTENERS: usize = 64;
/// How many questions to one client may be open.
pub(crate) const MAX_OPEN_INQUIRIES: usize = 256;
/// How many values a completion has at most (protocol, section 7.6).
pub(crate) const MAX_COMPLETIONS: usize = 100;
/// How long the program may take to say who may see a resource that was updated.
pub(crate) const VISIBILITY_WAIT: Duration = Duration::from_secs(10);
/// How many bytes of standard input are read at once.
pub(crate) const STDIN_CHUNK_BYTES: usize = 64 * 1024;
/// How many characters the reference of a logged error has (server specification, section 8).
pub(crate) const REFERENCE_LENGTH: usize = 12;
/// How many characters of five bits an id has that may not be guessed: more than 128 bits.
pub(crate) const RANDOM_ID_LENGTH: usize = 26;

// Server: the network.

/// How long nobody is accepted after the system had no descriptor for one more.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How many who found no room are told so at once; others are just closed.
pub(crate) const MAX_TURNED_AWAY: usize = 64;
/// How long they may take to read it.
pub(crate) const TURN_AWAY_WAIT: Duration = Duration::from_secs(1);
/// How many bytes the head of a request may take, and how much of an answer is buffered.
pub(crate) const HTTP_BUFFER_BYTES: usize = 128 * 1024;
/// How many streams of a session a client may come back to.
pub(crate) const MAX_KEPT_STREAMS: usize = 16;
/// How often sessions are looked at for whether somebody uses them: a quarter of their time, within these.
pub(crate) const SHORTEST_REAP_PAUSE: Duration = Duration::from_millis(20);
pub(crate) const LONGEST_REAP_PAUSE: Duration = Duration::from_secs(30);
/// How much of a WebSocket is read at once. Each connection holds a buffer of this size, so that it is a small one.
pub(crate) const WEBSOCKET_READ_BYTES: usize = 4 * 1024;
/// How many bytes of small messages are put together before they are written to a WebSocket.
pub(crate) const WEBSOCKET_WRITE_BYTES: usize = 16 * 1024;
/// How long the other side of a WebSocket may take to read why it is closed, and to close it as well.
pub(crate) const WEBSOCKET_CLOSE_WAIT: Duration = Duration::from_secs(2);
/// How many callers without a session are told apart before those who are gone are forgotten.
pub(crate) const MAX_KEPT_SHARES: usize = 10_000;

// Server: tenants, where they have limits.

/// How many requests of all tenants may wait for others of their tenant to end.
pub(crate) const MAX_WAITING_FOR_THEIR_TENANT: usize = 16_384;
/// After how long a tenant may try again that is refused for what it has under way: nobody knows when that ends.
pub(crate) const TENANT_RETRY: Duration = Duration::from_secs(1);
/// How many jobs the program is handed in one turn of its event loop, each tenant's next one after the other's.
pub(crate) const JOBS_PER_TURN: usize = 32;
/// How many tenants are told of in the figures of a server: those who take the most.
pub(crate) const MAX_TOLD_TENANTS: usize = 1_000;

// Server: authorization.

/// The longest token that is looked at; real ones have 1 to 4 KiB.
pub(crate) const MAX_JWT_BYTES: usize = 16 * 1024;
/// By how much the clock of whoever issued a token may differ from ours.
pub(crate) const JWT_LEEWAY: Duration = Duration::from_secs(30);
/// How many keys one JWK set may hold.
pub(crate) const MAX_JWKS_KEYS: usize = 100;
/// How many bytes a fetched JWK set may take.
pub(crate) const MAX_JWKS_BYTES: usize = 512 * 1024;
/// How long fetching one may take, with everything.
pub(crate) const JWKS_TIMEOUT: Duration = Duration::from_secs(5);
/// After how long it is fetched again.
pub(crate) const JWKS_FRESH: Duration = Duration::from_secs(600);
/// How long it is used at the longest, when it cannot be fetched again.
pub(crate) const JWKS_LONGEST: Duration = Duration::from_secs(3_600);
/// How often it is fetched for a key that it does not have: anybody can write a token that names one.
pub(crate) const JWKS_PAUSE: Duration = Duration::from_secs(30);
/// How soon it is fetched again after that failed.
pub(crate) const JWKS_RETRY: Duration = Duration::from_secs(5);

// Names and tokens.

/// The longest tool name that model providers accept (seed, "`McpOptions`": `^[a-zA-Z0-9_-]{1,64}$`).
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 64;
/// UTF-16 code units that count as one token (seed, "Disclosure budget").
pub(crate) const CHARS_PER_TOKEN: usize = 4;
/// How many tokens the definitions of one server's tools may take before schemas are deferred: about a tenth of a context
/// of 200,000 (seed, "Disclosure budget").
pub(crate) const DEFAULT_DISCLOSURE_BUDGET_TOKENS: u32 = 20_000;

// Server: what hosts bring along.

/// How many tools of one runtime are projected (server specification, section 2).
pub(crate) const DEFAULT_PROJECTED_TOOLS: u32 = 100;
/// How long a listing of a host's artifacts or files is used again, in milliseconds (seed, "Resource and prompt projectors").
pub(crate) const ADAPTER_RESOURCE_CACHE_TTL_MS: u32 = 5_000;
/// How many such listings are kept of one runtime (seed, "Resource and prompt projectors").
pub(crate) const ADAPTER_RESOURCE_CACHE_MAX_KEYS: u32 = 256;

// Runtime.

/// How many threads serve all connections of the process, at most.
pub(crate) const MAX_RUNTIME_THREADS: usize = 4;

const MIB: u64 = 1024 * 1024;

/// A time limit as an option gives it: a positive number of milliseconds, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout(Option<Duration>);

impl Timeout {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) const fn after(duration: Duration) -> Self {
        Self(Some(duration))
    }

    /// Reads an option in milliseconds: above 0, `Infinity` for none.
    ///
    /// # Errors
    /// `invalid-option`, naming `option`.
    pub(crate) fn from_millis(option: &str, millis: f64) -> Result<Self> {
        if millis.is_nan() || millis <= 0.0 {
            return Err(Error::new(
                ErrorCode::InvalidOption,
                format!("{option} must be a number of milliseconds above 0, or Infinity for none; got {millis}"),
            ));
        }
        let longest = LONGEST_TIMEOUT.as_secs_f64() * 1_000.0;
        Ok(Self(
            (millis < longest).then(|| Duration::from_secs_f64(millis / 1_000.0)),
        ))
    }

    pub(crate) const fn duration(self) -> Option<Duration> {
        self.0
    }
}

/// A span of whole milliseconds, no longer than clocks can count.
pub(crate) fn span_of_millis(millis: u64) -> Duration {
    Duration::from_millis(millis).min(LONGEST_TIMEOUT)
}

/// A cap as an option gives it: a whole number of at least 1.
///
/// # Errors
/// `invalid-option`, naming `option`.
pub(crate) fn whole_number(option: &str, value: f64) -> Result<u64> {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if value.fract() != 0.0 || !(1.0..=LARGEST).contains(&value) {
        return Err(Error::new(
            ErrorCode::InvalidOption,
            format!("{option} must be a whole number of at least 1; got {value}"),
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked above"
    )]
    Ok(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_positive_and_big_ones_do_not_overflow() {
        for wrong in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let error = Timeout::from_millis("timeoutMs", wrong).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidOption);
            assert!(error.to_string().contains("timeoutMs"));
        }
        assert_eq!(Timeout::from_millis("t", f64::INFINITY).unwrap(), Timeout::NONE);
        assert_eq!(Timeout::from_millis("t", f64::MAX).unwrap(), Timeout::NONE);
        let beyond_31_bits = Timeout::from_millis("t", 2_147_483_648.0).unwrap();
        assert_eq!(beyond_31_bits.duration(), Some(Duration::from_millis(2_147_483_648)));
    }

    #[test]
    fn caps_are_whole_and_at_least_one() {
        for wrong in [0.0, -3.0, 1.5, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(
                whole_number("maxTools", wrong).unwrap_err().code(),
                ErrorCode::InvalidOption
            );
        }
        assert_eq!(whole_number("maxTools", 10_000.0).unwrap(), 10_000);
    }
}
