//! Verifying tokens, for the facade.

use std::sync::{Arc, OnceLock};

use napi::Env;
use napi::bindgen_prelude::{FnArgs, Function};
use napi_derive::napi;
use tokio::runtime::Handle;

use super::callback::{KeepAlive, Mailbox, Parcel};
use super::reply::{NativeFailure, NativeReply};
use super::runtime;
use crate::host::http::HttpClient;
use crate::server::jwt::JwtVerifier;
use crate::transport::clock::SystemClock;
use crate::transport::http::client::ReqwestClient;
use crate::transport::http::client::settings::{HttpSettings, Proxy};

/// What became of a token.
#[napi(object, object_from_js = false)]
pub struct NativeVerdict {
    /// The facade's number.
    pub id: i64,
    /// JSON text of whose it is; nothing for one that is not good.
    pub text: Option<String>,
    /// There was nothing to judge it with.
    pub failure: Option<NativeFailure>,
}

impl Parcel for NativeVerdict {
    type Batch = Vec<Self>;

    fn pack(waiting: Vec<Self>) -> Vec<Self> {
        waiting
    }
}

/// Judges tokens of one issuer.
#[napi]
pub struct NativeJwtVerifier {
    mailbox: Arc<Mailbox<NativeVerdict>>,
    runtime: Handle,
    verifier: OnceLock<Arc<JwtVerifier>>,
    keep_alive: Option<KeepAlive>,
}

#[napi]
impl NativeJwtVerifier {
    #[napi(constructor, catch_unwind)]
    pub fn new(deliver: Function<'_, FnArgs<(Vec<NativeVerdict>,)>, ()>) -> napi::Result<Self> {
        Ok(Self {
            mailbox: Arc::new(Mailbox::new(&deliver)?),
            runtime: runtime::handle()?,
            verifier: OnceLock::new(),
            keep_alive: None,
        })
    }

    /// Tells it what to expect, as JSON text. A failure names the wrong option.
    #[napi(catch_unwind)]
    pub fn configure(&self, options: String) -> NativeReply {
        let connect = || {
            let settings = HttpSettings::new(Proxy::Env, &[], false)?;
            Ok(Arc::new(ReqwestClient::new(&settings)?) as Arc<dyn HttpClient>)
        };
        JwtVerifier::parse(&options, &connect, Arc::new(SystemClock))
            .map(|verifier| {
                // It is configured once, by the facade's constructor.
                let _is_first = self.verifier.set(Arc::new(verifier));
                None
            })
            .into()
    }

    /// Judges a token; the verdict comes under `id`.
    #[napi(catch_unwind)]
    pub fn verify(&self, id: i64, token: String) {
        let Some(verifier) = self.verifier.get().map(Arc::clone) else {
            return;
        };
        let mailbox = Arc::clone(&self.mailbox);
        self.runtime.spawn(async move {
            let (text, failure) = match verifier.verify(&token).await {
                Ok(text) => (text, None),
                Err(error) => (None, Some(NativeFailure::from(&error))),
            };
            mailbox.answer(NativeVerdict { id, text, failure });
        });
    }

    /// Somebody waits: the process goes on.
    #[napi]
    pub fn hold(&mut self, env: Env) -> napi::Result<()> {
        self.keep_alive = Some(KeepAlive::new(env)?);
        Ok(())
    }

    /// Nobody waits any more.
    #[napi]
    pub fn release(&mut self) {
        self.keep_alive = None;
    }
}
