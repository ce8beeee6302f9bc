//! A port of a server with a program of the test's own behind it, spoken to in bytes over loopback.

mod departures;
mod hostile;
mod legacy;
mod limits;
mod peer;
mod protected;
mod sessions;
mod stateless;
mod tenants;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::peer::{Peer, Response, get, post, request};

use super::options::SiteOptions;
use super::site::Site;
use crate::host::Clock;
use crate::host::server::{Abort, Application, Job, JobKind, Performed};
use crate::json::{self, Object};
use crate::protocol::request_state::Secret;
use crate::server::lifecycle::{Offer, Server};
use crate::server::options::Options;
use crate::server::testing::{MovedClock, Program, until};
use crate::transport::listen::Port;

pub(crate) struct Stage {
    pub(crate) program: Arc<Program>,
    pub(crate) server: Arc<Server>,
    pub(crate) clock: Arc<MovedClock>,
    pub(crate) site: Arc<Site>,
    pub(crate) port: u16,
    pub(crate) stop: CancellationToken,
    serving: JoinHandle<()>,
}

const TOOLS: &str = r#"[{"tool":{"name":"echo","inputSchema":{"type":"object"}},"source":"registered","validate":"none"},{"tool":{"name":"hold","inputSchema":{"type":"object"}},"source":"registered","validate":"none"},{"tool":{"name":"big","inputSchema":{"type":"object"}},"source":"registered","validate":"none"},{"tool":{"name":"named","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},"source":"registered","validate":"none"}]"#;

/// How long the text of the tool `big` is.
pub(crate) const BIG: usize = 300_000;

/// Tools answer at once, but for `hold`; whoever has the header `x-tenant` is that one. The runtime of `held` is looked for
/// without an end.
fn routine(job: &Job) -> Option<Performed> {
    let value = |text: String, is_shared| Some(Performed::Value { text, is_shared });
    match (job.kind, job.name.as_str()) {
        (JobKind::ListTools, _) => value(TOOLS.to_owned(), true),
        (JobKind::ListPrompts | JobKind::ListResources, _) => value("[]".to_owned(), true),
        (JobKind::Call, "hold") => None,
        (JobKind::Call, "big") => Some(Performed::Text(json::quote(&"x".repeat(BIG)))),
        (JobKind::Call, _) => Some(Performed::Text(json::quote(&job.text))),
        (JobKind::Resolve, _) if job.caller.contains("\"held\"") => None,
        (JobKind::Visible, _) => value("true".to_owned(), false),
        (JobKind::Identify, _) => {
            let headers = Object::parse(&job.text).and_then(|asked| asked.object("headers"));
            let tenant = headers.as_ref().and_then(|headers| headers.string("x-tenant"));
            match tenant.as_deref() {
                None => value(r#"{"refused":"tenant"}"#.to_owned(), false),
                Some("slow") => None,
                Some(tenant) => value(format!(r#"{{"tenantId":"{tenant}"}}"#), false),
            }
        }
        _ => Some(Performed::Nothing),
    }
}

impl Stage {
    /// Streamable HTTP at `/mcp`, with options besides, as members of JSON.
    pub(crate) async fn http(more: &str) -> Self {
        Self::with("{}", "http", more).await
    }

    pub(crate) async fn with(server: &str, kind: &str, more: &str) -> Self {
        let separator = if more.is_empty() { "" } else { "," };
        let options = format!(r#"{{"kind":"{kind}","port":0{separator}{more}}}"#);
        let options = SiteOptions::parse(&options).unwrap();
        let program = Arc::new(Program::default());
        let application: Arc<dyn Application> = Arc::<Program>::clone(&program);
        let clock = Arc::new(MovedClock::new());
        let shared: Arc<dyn Clock> = Arc::<MovedClock>::clone(&clock);
        let server = Server::new(
            Options::parse(server).unwrap(),
            Secret::new(&[7; 32]).unwrap(),
            application,
            Arc::clone(&shared),
        );
        let server = Arc::new(server.unwrap());
        program.follow(&server, routine);
        server.set_offer(Offer {
            has_resources: true,
            has_prompts: true,
            has_completions: true,
            runtime: (!options.is_multi_tenant).then_some(1),
        });
        let manner = options.manner().unwrap();
        let site = Arc::new(Site::new(Arc::clone(&server), options, shared).unwrap());
        let (host, number) = site.address();
        let bound = Port::bind(host, number).await.unwrap();
        let port = bound.number();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(Arc::clone(&site).serve(bound, manner, stop.clone()));
        Self {
            program,
            server,
            clock,
            site,
            port,
            stop,
            serving,
        }
    }

    pub(crate) async fn peer(&self) -> Peer {
        Peer::connect(self.port).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Response {
        let mut peer = self.peer().await;
        peer.send(request).await;
        peer.response().await
    }

    /// The id of a new session.
    pub(crate) async fn session(&self, version: &str) -> String {
        self.session_of(version, &[]).await
    }

    pub(crate) async fn session_of(&self, version: &str, headers: &[(&str, &str)]) -> String {
        let reply = self.ask(post("/mcp", headers, &initialize(version))).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        let all: Vec<_> = headers
            .iter()
            .copied()
            .chain([("mcp-session-id", id.as_str())])
            .collect();
        let ready = self
            .ask(post(
                "/mcp",
                &all,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            ))
            .await;
        assert_eq!(ready.status, 202);
        id
    }

    /// What the program is at, once it is.
    pub(crate) async fn job(&self) -> Job {
        until("a job", || self.program.jobs.lock().unwrap().pop_front()).await
    }

    /// Why a job was given up, once it is.
    pub(crate) async fn abandoned(&self, job: &Job) -> Abort {
        until("the end of a job", || {
            let abandoned = self.program.abandoned.lock().unwrap();
            abandoned
                .iter()
                .find(|(id, _)| *id == job.id)
                .map(|(_, reason)| *reason)
        })
        .await
    }

    pub(crate) fn is_abandoned(&self, job: &Job) -> bool {
        self.program
            .abandoned
            .lock()
            .unwrap()
            .iter()
            .any(|(id, _)| *id == job.id)
    }

    pub(crate) fn settle(&self, job: &Job, text: &str) {
        self.server.settle(job.id, Performed::Text(json::quote(text)));
    }

    pub(crate) fn advance(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
    }

    /// Moves the clock until something is there: whoever sleeps anew meanwhile is woken, too.
    pub(crate) async fn advance_until<T>(&self, millis: u64, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        until(what, || {
            self.advance(millis);
            look()
        })
        .await
    }

    pub(crate) fn connected(&self) -> usize {
        self.site.figures().0
    }

    pub(crate) fn sessions(&self) -> usize {
        self.site.figures().1
    }

    pub(crate) async fn stopped(self) {
        self.stop.cancel();
        // Those who are still connected have their time to read why it ends.
        self.advance_until(500, "the end of the port", || self.serving.is_finished().then_some(()))
            .await;
        self.serving.await.unwrap();
        assert_eq!(self.site.figures(), (0, 0));
        assert!(std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err());
    }
}

pub(crate) fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

/// A call of a tool in the session era.
pub(crate) fn call(id: u64, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"a":1}},"_meta":{{"progressToken":"t"}}}}}}"#
    )
}

/// A request of the stateless era.
pub(crate) fn stateless(id: u64, method: &str, params: &str) -> String {
    let separator = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{separator}"_meta":{{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
    )
}
