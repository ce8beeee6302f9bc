//! A toolset for the facade. Requests go in with a number that the facade chose, and end as an event with that number.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{FnArgs, Function, Uint8Array};
use napi_derive::napi;
use tokio::runtime::Handle;

use super::callback::{KeepAlive, Mailbox};
use super::constants;
use super::ending::AtEnd;
use super::fetch::FetchDesk;
use super::host::{Hears, JsListener, NativeEvent, Questions};
use super::reply::NativeReply;
use super::runtime;
use crate::client::call::Call;
use crate::client::features::{Ask, Feature};
use crate::client::options::{Options, ServerConfig};
use crate::client::rows::{Purpose, Rows, parse_rows};
use crate::client::toolset::Toolset;
use crate::error::{Error, ErrorCode, Result};
use crate::host::http::HttpClient;
use crate::host::{CallEnd, Listener};
use crate::limits::Timeout;
use crate::store::listings;
use crate::transport::clock::SystemClock;

/// What a store gave.
#[napi(object, object_to_js = false)]
pub struct NativeRows {
    /// JSON text.
    pub text: String,
    pub purpose: NativeRowsPurpose,
    /// The listings of servers without rows, as JSON text; nothing from a store that keeps none.
    pub listings: Option<String>,
}

/// What the rows of a store are for.
#[napi(string_enum = "kebab-case")]
pub enum NativeRowsPurpose {
    /// To be compared with what the servers list.
    Review,
    /// To guard what the servers list.
    Guard,
    /// To be woken.
    Wake,
}

/// What a toolset is made of.
#[napi(object, object_to_js = false)]
pub struct NativeSettings {
    /// JSON text, as are the others.
    pub servers: String,
    pub options: String,
    /// Where there is a store.
    pub rows: Option<NativeRows>,
    /// Whether children may be started; the switch of the process where nothing is said.
    pub stdio: Option<bool>,
    pub hears_stderr: bool,
    pub gives_credentials: bool,
    pub fetches: bool,
}

/// The toolset behind a handle of the facade. From the start it keeps the process alive, until `unref` or `release`.
#[napi]
pub struct NativeToolset {
    mailbox: Arc<Mailbox<NativeEvent>>,
    questions: Arc<Questions>,
    fetch: FetchDesk,
    runtime: Handle,
    /// Shared with what is done when the environment ends.
    slot: Arc<Slot>,
    keep_alive: Option<KeepAlive>,
    at_end: Option<AtEnd>,
}

#[napi]
impl NativeToolset {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, deliver: Function<'_, FnArgs<(Vec<NativeEvent>,)>, ()>) -> napi::Result<Self> {
        let slot = Arc::new(Slot::default());
        let ending = Arc::clone(&slot);
        let at_end = AtEnd::new(env, move || {
            if let Some(toolset) = ending.shut() {
                toolset.kill();
            }
        })?;
        Ok(Self {
            mailbox: Arc::new(Mailbox::new(&deliver)?),
            questions: Arc::default(),
            fetch: FetchDesk::default(),
            runtime: runtime::handle()?,
            slot,
            keep_alive: Some(KeepAlive::new(env)?),
            at_end: Some(at_end),
        })
    }

    /// Connects the servers. When it has ended well, there is a catalogue to take.
    #[napi(catch_unwind)]
    pub fn connect(&self, id: i64, settings: NativeSettings) {
        self.open(id, settings, |toolset| async move { toolset.connect().await });
    }

    /// Makes a catalogue out of the rows, to take when this has ended well. `reconcile` is to follow.
    #[napi(catch_unwind)]
    pub fn wake(&self, id: i64, settings: NativeSettings) {
        self.open(id, settings, |toolset| async move { toolset.wake().await });
    }

    /// Connects and lists those that were woken. Ends once all were tried.
    #[napi(catch_unwind)]
    pub fn reconcile(&self, id: i64) {
        let toolset = self.slot.toolset();
        let mailbox = Arc::clone(&self.mailbox);
        self.runtime.spawn(async move {
            if let Some(toolset) = toolset {
                toolset.reconcile().await;
            }
            mailbox.answer(NativeEvent::done(id, Ok(())));
        });
    }

    /// What the tools are built from, where it is another one than was taken last: a line of JSON with an entry per tool,
    /// and behind it the texts of their schemas.
    #[napi(catch_unwind)]
    pub fn catalogue(&self) -> Option<String> {
        self.slot.toolset()?.catalogue()
    }

    /// Calls a tool by its projected name with the JSON text of its arguments; at once, or when `authorize` is called.
    #[napi(catch_unwind)]
    pub fn call(
        &self,
        id: i64,
        tool: String,
        arguments: String,
        timeout_ms: Option<f64>,
        report_progress: bool,
        awaits_credential: bool,
    ) {
        let timeout = timeout_ms
            .map(|millis| Timeout::from_millis("timeoutMs", millis))
            .transpose();
        let started = timeout.and_then(|timeout| {
            let call = Call {
                id: id.cast_unsigned(),
                tool,
                arguments,
                timeout,
                report_progress,
                awaits_credential,
            };
            self.open_toolset().map(|toolset| toolset.call(call))
        });
        if let Err(error) = started {
            self.mailbox.answer(NativeEvent::settled(id, CallEnd::Failed(error)));
        }
    }

    /// Gives the call `id` the credential that it waits for.
    #[napi(catch_unwind)]
    pub fn authorize(&self, id: i64, bearer: String) {
        if let Some(toolset) = self.slot.toolset() {
            toolset.authorize(id.cast_unsigned(), bearer);
        }
    }

    /// Asks for resources, prompts or completions: a method of the protocol, the server, and the JSON text of the params.
    #[napi(catch_unwind)]
    pub fn ask(&self, id: i64, method: String, server: Option<String>, params: String) {
        let asked = self.open_toolset().and_then(|toolset| {
            let feature = Feature::parse(&method)
                .ok_or_else(|| Error::new(ErrorCode::InvalidArguments, format!("nobody can ask for {method}")))?;
            toolset.ask(Ask {
                id: id.cast_unsigned(),
                feature,
                server,
                params,
            });
            Ok(())
        });
        if let Err(error) = asked {
            self.mailbox.answer(NativeEvent::settled(id, CallEnd::Failed(error)));
        }
    }

    /// Gives up what was asked for, which then ends as aborted unless it has ended already.
    #[napi(catch_unwind)]
    pub fn cancel_ask(&self, id: i64) {
        if let Some(toolset) = self.slot.toolset() {
            toolset.cancel_ask(id.cast_unsigned());
        }
    }

    /// Answers a question: with a credential, with why there is none, or with nothing.
    #[napi(catch_unwind)]
    pub fn answer(&self, id: i64, credential: Option<String>, problem: Option<String>) {
        let answer = match problem {
            Some(problem) => Err(Error::new(ErrorCode::Unauthorized, problem)),
            None => Ok(credential),
        };
        self.questions.answer(id, answer);
    }

    /// The head of the answer to the request `id`: its headers are names and values in turn, a character for each byte.
    #[napi(catch_unwind)]
    pub fn fetch_head(&self, id: i64, status: u16, headers: Vec<String>) {
        self.fetch.head(id, status, &headers);
    }

    /// The chunk that was asked for, or the end.
    #[napi(catch_unwind)]
    pub fn fetch_chunk(&self, id: i64, chunk: Option<Uint8Array>) {
        self.fetch.chunk(id, chunk.as_deref());
    }

    /// There is no answer to the request `id`, or no more of it.
    #[napi(catch_unwind)]
    pub fn fetch_failed(&self, id: i64, reason: String) {
        self.fetch.failed(id, reason);
    }

    /// Gives up a call, which then ends as aborted unless it has ended already.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: i64, tool: String) {
        if let Some(toolset) = self.slot.toolset() {
            toolset.cancel(id.cast_unsigned(), &tool);
        }
    }

    /// Closes all connections. Ends when nothing is left running; until then the process is kept alive in any case.
    #[napi]
    pub fn close(&mut self, env: Env, id: i64) -> napi::Result<()> {
        if self.keep_alive.is_none() {
            self.keep_alive = Some(KeepAlive::new(env)?);
        }
        let toolset = self.slot.shut();
        // Before this returns, so that no later call slips in.
        if let Some(toolset) = &toolset {
            toolset.shut();
        }
        let mailbox = Arc::clone(&self.mailbox);
        self.runtime.spawn(async move {
            if let Some(toolset) = toolset {
                toolset.close().await;
            }
            mailbox.answer(NativeEvent::settled(id, CallEnd::Value("null".to_owned())));
        });
        Ok(())
    }

    /// Ends every child at once, without waiting: for the end of the process.
    #[napi(catch_unwind)]
    pub fn kill(&self) {
        if let Some(toolset) = self.slot.shut() {
            toolset.kill();
        }
    }

    /// The state of every server, as JSON text.
    #[napi(catch_unwind)]
    pub fn servers(&self) -> String {
        self.slot
            .toolset()
            .map_or_else(|| "[]".to_owned(), |toolset| toolset.servers())
    }

    /// What changed since the rows were written, as JSON text: two of them, the rows and the trusted definitions by id.
    #[napi(catch_unwind)]
    pub fn review(&self, rows: String, trusted: String) -> NativeReply {
        parse_rows(&rows)
            .and_then(|rows| Ok(Some(self.open_toolset()?.review(&rows, &trusted))))
            .into()
    }

    /// Lets the process end although the toolset is open.
    #[napi]
    pub fn unref(&mut self) {
        self.keep_alive = None;
    }

    /// Lets go of the environment, after the end of `close` or of a `connect` that failed has been delivered.
    #[napi]
    pub fn release(&mut self) {
        self.keep_alive = None;
        self.at_end = None;
    }

    /// Opens the toolset of these settings and goes on with it, on a thread that the facade does not wait for; the outcome
    /// is told as the end of `id`.
    fn open<F>(&self, id: i64, settings: NativeSettings, then: impl FnOnce(Toolset) -> F + Send + 'static)
    where
        F: Future<Output = Result<()>> + Send,
    {
        let hears = Hears {
            stderr: settings.hears_stderr,
            auth: settings.gives_credentials,
        };
        let listener: Arc<dyn Listener> = Arc::new(JsListener::new(
            Arc::clone(&self.mailbox),
            Arc::clone(&self.questions),
            hears,
        ));
        let http = settings.fetches.then(|| self.fetch.client(&self.mailbox));
        let (mailbox, slot, runtime) = (Arc::clone(&self.mailbox), Arc::clone(&self.slot), self.runtime.clone());
        self.runtime.spawn(async move {
            let opened = open(&settings, listener, http, runtime).and_then(|toolset| slot.fill(toolset));
            let outcome = match opened {
                Ok(toolset) => then(toolset).await,
                Err(error) => Err(error),
            };
            mailbox.answer(NativeEvent::done(id, outcome));
        });
    }

    fn open_toolset(&self) -> Result<Toolset> {
        self.slot
            .toolset()
            .ok_or_else(|| Error::new(ErrorCode::Unavailable, "the toolset has not been connected"))
    }
}

fn open(
    settings: &NativeSettings,
    listener: Arc<dyn Listener>,
    http: Option<Arc<dyn HttpClient>>,
    runtime: Handle,
) -> Result<Toolset> {
    let options = Options::parse(
        &settings.options,
        settings.stdio.unwrap_or_else(constants::stdio_is_enabled),
    )?;
    let servers = ServerConfig::parse_all(&settings.servers)?;
    let given = settings.rows.as_ref();
    let stored = given.map(|rows| parse_rows(&rows.text)).transpose()?;
    let listings = given.and_then(|rows| rows.listings.as_deref()).map(listings::parse_all);
    let rows = stored.as_deref().zip(given).map(|(stored, given)| Rows {
        stored,
        listings: listings.as_deref(),
        purpose: match given.purpose {
            NativeRowsPurpose::Review => Purpose::Review,
            NativeRowsPurpose::Guard => Purpose::Guard,
            NativeRowsPurpose::Wake => Purpose::Wake,
        },
    });
    let clock = Arc::new(SystemClock);
    Ok(Toolset::new(servers, options, rows, listener, clock, http, runtime))
}

/// Where the toolset is once it was opened, unless that came too late.
#[derive(Default)]
struct Slot(Mutex<Filling>);

#[derive(Default)]
struct Filling {
    toolset: Option<Toolset>,
    shut: bool,
}

impl Slot {
    /// # Errors
    /// `closed` when it was shut before.
    fn fill(&self, toolset: Toolset) -> Result<Toolset> {
        let mut filling = self.filling();
        if filling.shut {
            return Err(Error::new(
                ErrorCode::Closed,
                "the toolset was closed before it was connected",
            ));
        }
        filling.toolset = Some(toolset.clone());
        Ok(toolset)
    }

    fn toolset(&self) -> Option<Toolset> {
        self.filling().toolset.clone()
    }

    /// From here on nothing gets in; gives what is there, which stays for whoever asks about it.
    fn shut(&self) -> Option<Toolset> {
        let mut filling = self.filling();
        filling.shut = true;
        filling.toolset.clone()
    }

    fn filling(&self) -> MutexGuard<'_, Filling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
