//! A server for the facade. What the program is asked goes out as jobs, in batches, and comes back in batches.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{FnArgs, Function, Uint8Array};
use napi_derive::napi;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::callback::{KeepAlive, Mailbox};
use super::ending::AtEnd;
use super::frames::{self, Frame, NativeJobKind};
use super::reply::{NativeFailure, NativeReply};
use super::runtime;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::server_limits::{Served, ServerLimits};
use crate::host::Change;
use crate::host::server::{
    Abort, Application, Content, ContentData, Inquiry, InquiryMethod, Job, JobId, JobKind, Performed,
};
use crate::json::Object;
use crate::limits;
use crate::protocol::request_state::Secret;
use crate::server::arguments;
use crate::server::http::options::SiteOptions;
use crate::server::http::site::Site;
use crate::server::lifecycle::{Offer, Server};
use crate::server::options::Options;
use crate::server::random;
use crate::server::stdio::{self, Source};
use crate::transport::clock::SystemClock;
use crate::transport::listen::{Manner, Port};
use crate::transport::outlet::Outlet;
use crate::transport::stdio::{Input, write};

/// What a resource holds: `text`, or `blob`.
#[napi(object, object_to_js = false)]
pub struct NativeContent {
    pub uri: String,
    pub mime_type: Option<String>,
    pub text: Option<String>,
    pub blob: Option<Uint8Array>,
    /// JSON text.
    pub meta: Option<String>,
}

/// A question to the client.
#[napi(object, object_to_js = false)]
pub struct NativeQuestion {
    pub id: i64,
    pub key: String,
    /// A method of the protocol.
    pub method: String,
    /// JSON text of an object.
    pub params: String,
}

/// Checks arguments against a schema, both JSON text: all of it, or in the shallow manner of the server. A failure says
/// what is wrong.
#[napi(catch_unwind)]
pub fn native_validate_arguments(schema: String, arguments: String, full: bool) -> NativeReply {
    arguments::validate(&schema, &arguments, full)
        .map(|()| None)
        .map_err(|text| Error::new(ErrorCode::InvalidArguments, text))
        .into()
}

/// Whether these are options for a network transport, as JSON text: gives where it will be reached. A failure names the
/// wrong one.
#[napi(catch_unwind)]
pub fn native_check_network_options(text: String) -> NativeReply {
    SiteOptions::parse(&text)
        .and_then(|options| options.manner().map(|_| Some(options.whereabouts())))
        .into()
}

/// A reference for an error that is logged.
#[napi(catch_unwind)]
pub fn native_reference() -> NativeReply {
    random::reference().map(Some).into()
}

/// Whether these are limits for a stdio transport, as JSON text. A failure names the wrong one.
#[napi(catch_unwind)]
pub fn native_check_stdio_limits(text: String) -> NativeReply {
    stdio_limits(&text).map(|_| None).into()
}

/// The server behind a handle of the facade. From its start to its end it keeps the process alive.
#[napi]
pub struct NativeServer {
    mailbox: Arc<Mailbox<Frame>>,
    runtime: Handle,
    server: OnceLock<Arc<Server>>,
    running: Slot,
    keep_alive: Option<KeepAlive>,
    at_end: Option<AtEnd>,
}

/// What runs now.
type Slot = Arc<Mutex<Option<Running>>>;

/// What runs until it is stopped.
struct Running {
    stop: CancellationToken,
    /// Where bytes of the facade go; nothing when they come from the process itself.
    given: Option<Given>,
}

struct Given {
    chunks: Option<mpsc::Sender<Vec<u8>>>,
    outlet: Arc<Outlet>,
}

#[napi]
impl NativeServer {
    #[napi(constructor, catch_unwind)]
    pub fn new(deliver: Function<'_, FnArgs<(Vec<String>,)>, ()>) -> napi::Result<Self> {
        Ok(Self {
            mailbox: Arc::new(Mailbox::new(&deliver)?),
            runtime: runtime::handle()?,
            server: OnceLock::new(),
            running: Arc::default(),
            keep_alive: None,
            at_end: None,
        })
    }

    /// Tells it what it is: JSON text, and the secret that seals what clients carry; a random one where none is given.
    #[napi(catch_unwind)]
    pub fn configure(&self, options: String, secret: Option<Uint8Array>) -> NativeReply {
        let configured = Options::parse(&options).and_then(|options| {
            let secret = match secret {
                Some(bytes) => Secret::new(&bytes)?,
                None => random_secret()?,
            };
            let application = Arc::new(Program(Arc::clone(&self.mailbox)));
            let server = Server::new(options, secret, application, Arc::new(SystemClock))?;
            // It is configured once, by the facade's constructor.
            let _is_first = self.server.set(Arc::new(server));
            Ok(None)
        });
        configured.into()
    }

    /// What is registered now, as JSON text.
    #[napi(catch_unwind)]
    pub fn offer(&self, facts: String) {
        let facts = Object::parse(&facts).unwrap_or_default();
        let has = |key: &str| facts.get(key).is_some_and(|flag| flag.get() == "true");
        let runtime = facts.present("runtime").and_then(|raw| raw.get().parse().ok());
        self.with(|server| {
            server.set_offer(Offer {
                has_resources: has("resources"),
                has_prompts: has("prompts"),
                has_completions: has("completions"),
                runtime,
            });
        });
    }

    /// `tools`, `resources` or `prompts` are others now; of one runtime, or of all.
    #[napi(catch_unwind)]
    pub fn changed(&self, kind: String, runtime: Option<u32>) {
        let change = match kind.as_str() {
            "resources" => Change::Resources,
            "prompts" => Change::Prompts,
            _ => Change::Tools,
        };
        let _entered = self.runtime.enter();
        self.with(|server| server.changed(change, runtime, limits::CHANGE_WINDOW));
    }

    /// The number of a URI template.
    #[napi(catch_unwind)]
    pub fn add_template(&self, uri_template: String) -> NativeReply {
        self.server()
            .and_then(|server| server.add_template(&uri_template))
            .map(|number| Some(number.to_string()))
            .into()
    }

    #[napi(catch_unwind)]
    pub fn remove_template(&self, number: u32) {
        self.with(|server| server.remove_template(number));
    }

    #[napi(catch_unwind)]
    pub fn set_session(&self, session_id: String, runtime: u32, tenant_id: Option<String>) {
        self.with(|server| server.set_session(session_id, runtime, tenant_id));
    }

    #[napi(catch_unwind)]
    pub fn remove_session(&self, session_id: String) {
        self.with(|server| server.remove_session(&session_id));
    }

    /// A runtime is gone.
    #[napi(catch_unwind)]
    pub fn forget(&self, runtime: u32) {
        self.with(|server| server.forget(runtime));
    }

    #[napi(catch_unwind)]
    pub fn resource_updated(&self, uri: String) {
        let _entered = self.runtime.enter();
        self.with(|server| server.updated(&uri));
    }

    /// What became of jobs: a line of JSON for each, with its number, a `NativeAnswerKind`, and what that has.
    #[napi(catch_unwind)]
    pub fn answer(&self, batch: String) {
        self.with(|server| {
            let server = Arc::clone(server);
            // On a thread of the core, which is woken once for all of them. Woken from here, each request would cost the
            // JavaScript thread a call into the system.
            self.runtime.spawn(async move {
                for (job, performed) in frames::answers(&batch) {
                    server.settle(job, performed);
                }
            });
        });
    }

    /// What the job holds that was to read a resource.
    #[napi(catch_unwind)]
    pub fn answer_contents(&self, job: i64, contents: Vec<NativeContent>) {
        let contents = contents.into_iter().map(Content::from).collect();
        self.with(|server| server.settle(job.cast_unsigned(), Performed::Contents(contents)));
    }

    /// A turn of the event loop is over in which jobs came: the next ones may come, where tenants take turns.
    #[napi(catch_unwind)]
    pub fn turned(&self) {
        self.with(|server| server.jobs().turned());
    }

    /// How far a job has come.
    #[napi(catch_unwind)]
    pub fn progress(&self, job: i64, done: f64, total: Option<f64>, message: Option<String>) {
        self.with(|server| server.progress(job.cast_unsigned(), done, total, message.as_deref()));
    }

    /// A log message of a job; `data` is JSON text.
    #[napi(catch_unwind)]
    pub fn log(&self, job: i64, level: String, data: String) -> NativeReply {
        self.server()
            .and_then(|server| server.log(job.cast_unsigned(), &level, &data))
            .map(|()| None)
            .into()
    }

    /// What a job asks the client: all that it opened together.
    #[napi(catch_unwind)]
    pub fn ask(&self, job: i64, questions: Vec<NativeQuestion>) {
        let inquiries = questions
            .into_iter()
            .map(|question| Inquiry {
                id: question.id.cast_unsigned(),
                key: question.key,
                method: match question.method.as_str() {
                    "sampling/createMessage" => InquiryMethod::Sample,
                    "roots/list" => InquiryMethod::Roots,
                    _ => InquiryMethod::Elicit,
                },
                params: question.params,
            })
            .collect();
        self.with(|server| server.ask(job.cast_unsigned(), inquiries));
    }

    /// Closes the stream of a job's request; what comes is fetched later.
    #[napi(catch_unwind)]
    pub fn close_stream(&self, job: i64, retry_ms: Option<u32>) {
        self.with(|server| server.close_stream(job.cast_unsigned(), retry_ms.map(u64::from)));
    }

    /// The definitions of all tools, as the end of `id`.
    #[napi(catch_unwind)]
    pub fn list_tools(&self, id: i64) {
        let Ok(server) = self.server().map(Arc::clone) else {
            return;
        };
        let mailbox = Arc::clone(&self.mailbox);
        self.runtime.spawn(async move {
            mailbox.answer(done(id, server.definitions().await.map(Some)));
        });
    }

    /// Serves lines: over standard input and output, or over what the facade passes on. Ends when it runs; how it goes on
    /// is told by `ended`.
    #[napi]
    pub fn start_stdio(&mut self, env: Env, id: i64, own: bool, limits: String) -> napi::Result<()> {
        self.hold(env)?;
        let started = self.begin_stdio(own, &limits);
        self.mailbox.answer(done(id, started.map(|()| None)));
        Ok(())
    }

    /// Serves a port. Ends with the number of the port; how it goes on is told by `ended`.
    #[napi]
    pub fn start_network(&mut self, env: Env, id: i64, options: String) -> napi::Result<()> {
        self.hold(env)?;
        let prepared = self.prepare_network(&options);
        let (mailbox, slot) = (Arc::clone(&self.mailbox), Arc::clone(&self.running));
        let stop = CancellationToken::new();
        *self.running() = Some(Running {
            stop: stop.clone(),
            given: None,
        });
        self.runtime.spawn(async move {
            let bound = async {
                let (site, manner) = prepared?;
                let (host, number) = site.address();
                let port = Port::bind(host, number).await?;
                Ok((site, manner, port))
            };
            match bound.await {
                Err(error) => {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    mailbox.answer(done(id, Err(error)));
                }
                Ok((site, manner, port)) => {
                    mailbox.answer(done(id, Ok(Some(port.number().to_string()))));
                    site.serve(port, manner, stop).await;
                    end(&slot, &mailbox);
                }
            }
        });
        Ok(())
    }

    /// The chunk that was asked for.
    #[napi(catch_unwind)]
    pub fn input(&self, bytes: Uint8Array) {
        if let Some(given) = self.running().as_ref().and_then(|running| running.given.as_ref())
            && let Some(chunks) = &given.chunks
        {
            // One is asked for at a time, so that there is room; or the service has ended.
            let _sent = chunks.try_send(bytes.to_vec());
        }
    }

    /// There is no more input.
    #[napi(catch_unwind)]
    pub fn input_ended(&self) {
        if let Some(given) = self.running().as_mut().and_then(|running| running.given.as_mut()) {
            given.chunks = None;
        }
    }

    /// What was to be written is; or cannot be.
    #[napi(catch_unwind)]
    pub fn written(&self, ok: bool) {
        if let Some(given) = self.running().as_ref().and_then(|running| running.given.as_ref()) {
            if ok {
                given.outlet.written();
            } else {
                given.outlet.break_off();
            }
        }
    }

    /// Stops what runs; its end is told by `ended`.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        if let Some(running) = &*self.running() {
            running.stop.cancel();
        }
    }

    /// What runs has ended: lets go of the environment, so that the process may end too.
    #[napi]
    pub fn release(&mut self) {
        self.keep_alive = None;
        self.at_end = None;
    }

    /// JSON text.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> String {
        self.server().map_or_else(|_| "{}".to_owned(), |server| server.stats())
    }

    fn prepare_network(&self, options: &str) -> Result<(Arc<Site>, Manner)> {
        let server = Arc::clone(self.server()?);
        let options = SiteOptions::parse(options)?;
        let manner = options.manner()?;
        let site = Site::new(server, options, Arc::new(SystemClock))?;
        Ok((Arc::new(site), manner))
    }

    fn begin_stdio(&self, own: bool, limits: &str) -> Result<()> {
        let server = Arc::clone(self.server()?);
        let limits = stdio_limits(limits)?;
        // A port that could not be had may have been one for tenants.
        server.set_multi_tenant(false);
        let outlet = Arc::new(Outlet::new(limits.max_buffered_bytes));
        let stop = CancellationToken::new();
        let mailbox = Arc::clone(&self.mailbox);
        let slot = Arc::clone(&self.running);
        if own {
            let input = Input::open().map_err(|error| no_stdio("input", &error))?;
            write(Arc::clone(&outlet), self.runtime.clone()).map_err(|error| no_stdio("output", &error))?;
            *self.running() = Some(Running {
                stop: stop.clone(),
                given: None,
            });
            self.runtime.spawn(async move {
                stdio::serve(server, limits, input, outlet, stop).await;
                end(&slot, &mailbox);
            });
            return Ok(());
        }
        let (sender, chunks) = mpsc::channel(1);
        let source = GivenInput {
            mailbox: Arc::clone(&self.mailbox),
            chunks,
            is_asked: false,
        };
        *self.running() = Some(Running {
            stop: stop.clone(),
            given: Some(Given {
                chunks: Some(sender),
                outlet: Arc::clone(&outlet),
            }),
        });
        let written = Arc::clone(&outlet);
        let out = Arc::clone(&self.mailbox);
        self.runtime.spawn(async move {
            while let Some(bytes) = written.take().await {
                out.answer(Frame {
                    // What is written is whole lines of text.
                    text: Some(String::from_utf8_lossy(&bytes).into_owned()),
                    ..Frame::of(NativeJobKind::Write)
                });
                written.until_written().await;
            }
        });
        self.runtime.spawn(async move {
            stdio::serve(server, limits, source, outlet, stop).await;
            end(&slot, &mailbox);
        });
        Ok(())
    }

    /// Keeps the process alive, and ends what runs with its environment.
    fn hold(&mut self, env: Env) -> napi::Result<()> {
        self.keep_alive = Some(KeepAlive::new(env)?);
        let (server, running) = (self.server.get().cloned(), Arc::clone(&self.running));
        self.at_end = Some(AtEnd::new(env, move || {
            // With the environment goes the program that would have answered.
            if let Some(server) = server {
                server.halt();
            }
            if let Some(running) = &*running.lock().unwrap_or_else(PoisonError::into_inner) {
                running.stop.cancel();
            }
        })?);
        Ok(())
    }

    fn server(&self) -> Result<&Arc<Server>> {
        self.server
            .get()
            .ok_or_else(|| Error::new(ErrorCode::Unavailable, "the server has not been configured"))
    }

    fn with(&self, act: impl FnOnce(&Arc<Server>)) {
        if let Some(server) = self.server.get() {
            act(server);
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stdio_limits(text: &str) -> Result<ServerLimits> {
    ServerLimits::parse(&Object::parse(text).unwrap_or_default(), Served::Stdio, &[])
}

fn end(running: &Mutex<Option<Running>>, mailbox: &Mailbox<Frame>) {
    *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    mailbox.answer(Frame::of(NativeJobKind::Ended));
}

fn no_stdio(which: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorCode::Unavailable,
        format!("standard {which} cannot be used: {error}"),
    )
}

fn random_secret() -> Result<Secret> {
    let mut bytes = [0; limits::MIN_REQUEST_STATE_SECRET_BYTES];
    random::fill(&mut bytes)?;
    Secret::new(&bytes)
}

/// Input that the facade passes on, one chunk at a time.
struct GivenInput {
    mailbox: Arc<Mailbox<Frame>>,
    chunks: mpsc::Receiver<Vec<u8>>,
    is_asked: bool,
}

impl Source for GivenInput {
    async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.is_asked {
            self.is_asked = true;
            self.mailbox.answer(Frame::of(NativeJobKind::Pull));
        }
        let chunk = self.chunks.recv().await;
        self.is_asked = false;
        chunk
    }
}

/// The program, as the core sees it.
struct Program(Arc<Mailbox<Frame>>);

impl Application for Program {
    fn perform(&self, job: Job) {
        let kind = match job.kind {
            JobKind::Identify => NativeJobKind::Identify,
            JobKind::Resolve => NativeJobKind::Resolve,
            JobKind::ListTools => NativeJobKind::ListTools,
            JobKind::ListResources => NativeJobKind::ListResources,
            JobKind::ListTemplates => NativeJobKind::ListTemplates,
            JobKind::ListPrompts => NativeJobKind::ListPrompts,
            JobKind::Call => NativeJobKind::Call,
            JobKind::Read => NativeJobKind::Read,
            JobKind::Prompt => NativeJobKind::Prompt,
            JobKind::Complete => NativeJobKind::Complete,
            JobKind::Visible => NativeJobKind::Visible,
        };
        self.0.answer(Frame {
            kind,
            id: job.id.cast_signed(),
            runtime: job.runtime,
            caller: Some(job.caller),
            name: Some(job.name).filter(|name| !name.is_empty()),
            text: Some(job.text).filter(|text| !text.is_empty()),
            answers: job.answers,
            failure: None,
        });
    }

    fn abandon(&self, job: JobId, reason: Abort) {
        self.0.answer(Frame {
            id: job.cast_signed(),
            text: Some(reason.name().to_owned()),
            ..Frame::of(NativeJobKind::Abort)
        });
    }

    fn released(&self, job: JobId) {
        self.0.answer(Frame {
            id: job.cast_signed(),
            ..Frame::of(NativeJobKind::Released)
        });
    }

    fn answered(&self, inquiry: u64, outcome: Result<String>) {
        self.0.answer(Frame {
            kind: NativeJobKind::Answered,
            ..done(inquiry.cast_signed(), outcome.map(Some))
        });
    }

    fn warn(&self, text: String) {
        self.0.answer(Frame {
            text: Some(text),
            ..Frame::of(NativeJobKind::Warn)
        });
    }
}

/// The end of a request of the facade's own.
fn done(id: i64, outcome: Result<Option<String>>) -> Frame {
    let (text, failure) = match outcome {
        Ok(text) => (text, None),
        Err(error) => (None, Some(NativeFailure::from(&error))),
    };
    Frame {
        id,
        text,
        failure,
        ..Frame::of(NativeJobKind::Done)
    }
}

impl From<NativeContent> for Content {
    fn from(content: NativeContent) -> Self {
        Self {
            uri: content.uri,
            mime_type: content.mime_type,
            data: match (content.text, content.blob) {
                (None, Some(blob)) => ContentData::Blob(blob.to_vec()),
                (text, _) => ContentData::Text(text.unwrap_or_default()),
            },
            meta: content.meta,
        }
    }
}
