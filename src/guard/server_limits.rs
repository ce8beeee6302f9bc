//! The limits that a server's transport takes as options: which there are on which transport, and what is a value for one.
//! The numbers themselves are in `limits`; who holds a client to them is the transport or the server.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::json::{self, Object};
use crate::limits::{self, Timeout};

/// What one server allows those who call it. Holds valid values alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerLimits {
    pub(crate) max_connections: usize,
    pub(crate) max_sessions: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_json_depth: usize,
    pub(crate) max_concurrent_requests: usize,
    pub(crate) max_queued_requests: usize,
    pub(crate) request_timeout: Timeout,
    pub(crate) idle_timeout: Timeout,
    pub(crate) heartbeat_interval: Duration,
    pub(crate) max_buffered_bytes: usize,
    pub(crate) header_timeout: Duration,
    pub(crate) shutdown_timeout: Duration,
}

/// Which options make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// One client at the other end of two pipes.
    Stdio,
    /// Anybody who can reach a port.
    Network,
}

impl Served {
    const STDIO: &'static [&'static str] = &[
        "maxBodyBytes",
        "maxJsonDepth",
        "maxConcurrentRequests",
        "maxQueuedRequests",
        "requestTimeoutMs",
        "maxBufferedBytes",
        "shutdownTimeoutMs",
    ];
    const NETWORK_ALONE: &'static [&'static str] = &[
        "maxConnections",
        "maxSessions",
        "idleTimeoutMs",
        "heartbeatIntervalMs",
        "headerTimeoutMs",
    ];

    fn has(self, option: &str) -> bool {
        Self::STDIO.contains(&option) || self == Self::Network && Self::NETWORK_ALONE.contains(&option)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "a stdio transport",
            Self::Network => "a network transport",
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: size(limits::DEFAULT_MAX_CONNECTIONS),
            max_sessions: size(limits::DEFAULT_MAX_SESSIONS),
            max_body_bytes: size(limits::DEFAULT_MAX_BODY_BYTES),
            max_json_depth: size(limits::DEFAULT_MAX_JSON_DEPTH),
            max_concurrent_requests: size(limits::DEFAULT_MAX_CONCURRENT_REQUESTS),
            max_queued_requests: size(limits::DEFAULT_MAX_QUEUED_REQUESTS),
            request_timeout: Timeout::after(limits::DEFAULT_REQUEST_TIMEOUT),
            idle_timeout: Timeout::after(limits::DEFAULT_SERVER_IDLE_TIMEOUT),
            heartbeat_interval: limits::DEFAULT_HEARTBEAT_INTERVAL,
            max_buffered_bytes: size(limits::DEFAULT_MAX_BUFFERED_BYTES),
            header_timeout: limits::DEFAULT_HEADER_TIMEOUT,
            shutdown_timeout: limits::DEFAULT_SHUTDOWN_TIMEOUT,
        }
    }
}

impl ServerLimits {
    /// Reads the limits among a transport's options. `others` are its options that are no limits; a name that is neither
    /// is refused, as a misspelt limit must not leave the default in force.
    ///
    /// # Errors
    /// `invalid-option`, naming the option.
    pub(crate) fn parse(options: &Object<'_>, served: Served, others: &[&str]) -> Result<Self> {
        if let Some((name, _)) = options
            .members()
            .find(|(name, _)| !served.has(name) && !others.contains(name))
        {
            return Err(Error::invalid_option(format!(
                "{} is not an option of {}",
                shown(name),
                served.name()
            )));
        }
        let default = Self::default();
        let count = |option: &str, default: usize| match options.get(option) {
            Some(value) => positive(option, value.get()).map(size),
            None => Ok(default),
        };
        let span = |option: &str, default: Duration| match options.get(option) {
            Some(value) => positive(option, value.get()).map(limits::span_of_millis),
            None => Ok(default),
        };
        let timeout = |option: &str, default: Timeout| match options.get(option) {
            Some(value) => timeout(option, value.get()),
            None => Ok(default),
        };
        Ok(Self {
            max_connections: count("maxConnections", default.max_connections)?,
            max_sessions: count("maxSessions", default.max_sessions)?,
            max_body_bytes: count("maxBodyBytes", default.max_body_bytes)?,
            max_json_depth: count("maxJsonDepth", default.max_json_depth)?,
            max_concurrent_requests: count("maxConcurrentRequests", default.max_concurrent_requests)?,
            max_queued_requests: count("maxQueuedRequests", default.max_queued_requests)?,
            request_timeout: timeout("requestTimeoutMs", default.request_timeout)?,
            idle_timeout: timeout("idleTimeoutMs", default.idle_timeout)?,
            heartbeat_interval: span("heartbeatIntervalMs", default.heartbeat_interval)?,
            max_buffered_bytes: count("maxBufferedBytes", default.max_buffered_bytes)?,
            header_timeout: span("headerTimeoutMs", default.header_timeout)?,
            shutdown_timeout: span("shutdownTimeoutMs", default.shutdown_timeout)?,
        })
    }
}

pub(crate) fn positive(option: &str, value: &str) -> Result<u64> {
    whole(value)
        .filter(|value| *value > 0)
        .ok_or_else(|| Error::invalid_option(format!("{option} must be a positive integer")))
}

/// 0 is none.
fn timeout(option: &str, value: &str) -> Result<Timeout> {
    match whole(value) {
        Some(0) => Ok(Timeout::NONE),
        Some(millis) => Ok(Timeout::after(limits::span_of_millis(millis))),
        None => Err(Error::invalid_option(format!(
            "{option} must be a positive integer, or 0 for none"
        ))),
    }
}

/// A whole number as JavaScript has them: exact ones, of which none is negative here.
fn whole(value: &str) -> Option<u64> {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    let number = json::parse::<f64>(value)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and in range"
    )]
    (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64)
}

/// On a system with smaller addresses a limit beyond them is as good as the largest one there.
pub(crate) fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn shown(name: &str) -> String {
    json::visibly(&json::quote_short(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn without_options_each_limit_has_the_default_of_the_specification() {
        let limits = parse("{}", Served::Network).unwrap();
        assert_eq!(limits, ServerLimits::default());
        assert_eq!(limits.max_connections, 10_000);
        assert_eq!(limits.max_sessions, 10_000);
        assert_eq!(limits.max_body_bytes, 4_194_304);
        assert_eq!(limits.max_json_depth, 128);
        assert_eq!(limits.max_concurrent_requests, 64);
        assert_eq!(limits.max_queued_requests, 256);
        assert_eq!(limits.request_timeout.duration(), Some(Duration::from_secs(60)));
        assert_eq!(limits.idle_timeout.duration(), Some(Duration::from_secs(300)));
        assert_eq!(limits.heartbeat_interval, Duration::from_secs(30));
        assert_eq!(limits.max_buffered_bytes, 1_048_576);
        assert_eq!(limits.header_timeout, Duration::from_secs(10));
        assert_eq!(limits.shutdown_timeout, Duration::from_secs(5));
    }

    #[test]
    fn each_option_sets_its_own_limit() {
        let names = Served::STDIO.iter().chain(Served::NETWORK_ALONE);
        let options: Vec<_> = names
            .enumerate()
            .map(|(at, name)| format!("\"{name}\":{}", at + 1))
            .collect();
        let limits = parse(&format!("{{{}}}", options.join(",")), Served::Network).unwrap();
        let millis = |millis| Duration::from_millis(millis);
        assert_eq!(
            limits,
            ServerLimits {
                max_body_bytes: 1,
                max_json_depth: 2,
                max_concurrent_requests: 3,
                max_queued_requests: 4,
                request_timeout: Timeout::after(millis(5)),
                max_buffered_bytes: 6,
                shutdown_timeout: millis(7),
                max_connections: 8,
                max_sessions: 9,
                idle_timeout: Timeout::after(millis(10)),
                heartbeat_interval: millis(11),
                header_timeout: millis(12),
            }
        );
    }

    #[test]
    fn anything_but_a_positive_integer_is_refused_by_name() {
        for name in Served::STDIO.iter().chain(Served::NETWORK_ALONE) {
            for wrong in [
                "-1",
                "1.5",
                "9007199254740992",
                "1e400",
                "null",
                "true",
                "\"5\"",
                "[5]",
                "{}",
                r#"{"\u0000number":"NaN"}"#,
                r#"{"\u0000number":"Infinity"}"#,
            ] {
                let error = parse(&format!("{{\"{name}\":{wrong}}}"), Served::Network).unwrap_err();
                assert_eq!(error.code(), ErrorCode::InvalidOption);
                assert!(
                    error
                        .message()
                        .starts_with(&format!("{name} must be a positive integer")),
                    "{wrong}: {error}"
                );
            }
            let zero = parse(&format!("{{\"{name}\":0}}"), Served::Network);
            assert_eq!(
                zero.is_ok(),
                matches!(*name, "requestTimeoutMs" | "idleTimeoutMs"),
                "{name}"
            );
        }
        let off = parse(r#"{"requestTimeoutMs":0,"idleTimeoutMs":-0}"#, Served::Network).unwrap();
        assert_eq!((off.request_timeout, off.idle_timeout), (Timeout::NONE, Timeout::NONE));
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let options =
            r#"{"shutdownTimeoutMs":9007199254740991,"requestTimeoutMs":9007199254740991,"maxBodyBytes":1e15}"#;
        let limits = parse(options, Served::Stdio).unwrap();
        assert!(limits.shutdown_timeout > Duration::from_secs(1_000_000_000));
        assert!(limits.shutdown_timeout < Duration::from_secs(10_000_000_000));
        assert_eq!(limits.request_timeout.duration(), Some(limits.shutdown_timeout));
    }

    #[test]
    fn a_name_that_the_transport_does_not_have_is_refused() {
        let error = parse(r#"{"maxBodyByte":5}"#, Served::Network).unwrap_err();
        assert_eq!(
            error.message(),
            r#""maxBodyByte" is not an option of a network transport"#
        );
        for name in Served::NETWORK_ALONE {
            let error = parse(&format!("{{\"{name}\":5}}"), Served::Stdio).unwrap_err();
            assert_eq!(
                error.message(),
                format!("\"{name}\" is not an option of a stdio transport")
            );
        }
        let object = Object::parse(r#"{"port":0,"maxSessions":2}"#).unwrap();
        let limits = ServerLimits::parse(&object, Served::Network, &["port"]).unwrap();
        assert_eq!(limits.max_sessions, 2);
    }

    fn parse(options: &str, served: Served) -> Result<ServerLimits> {
        ServerLimits::parse(&Object::parse(options).unwrap(), served, &[])
    }
}
