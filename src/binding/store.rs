//! The connection stores, for the facade: rows cross as JSON text, and never as live objects. A store on a file answers
//! with promises; they are strong, because a process must not end before its rows are written.

use std::sync::{Mutex, PoisonError};

use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred};
use napi_derive::napi;

use super::reply::{NativeFailure, NativeReply};
use super::runtime;
use crate::catalog::snapshot::{PersistedServer, encode_tools};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::store::listings::{MemoryListings, PersistedListing, encode_all};
use crate::store::memory::MemoryStore;
use crate::store::sqlite::worker::Worker;
use crate::store::sqlite::{Place, SqliteStore};

#[napi]
#[derive(Default)]
pub struct NativeMemoryStore {
    store: Mutex<MemoryStore>,
    listings: Mutex<MemoryListings>,
}

#[napi]
impl NativeMemoryStore {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows, as a JSON array.
    #[napi(catch_unwind)]
    pub fn list(&self) -> String {
        array(&self.store.lock().unwrap_or_else(PoisonError::into_inner).list())
    }

    #[napi(catch_unwind)]
    pub fn save(&self, row: String) -> NativeReply {
        PersistedServer::from_json(&row)
            .map(|row| {
                self.store.lock().unwrap_or_else(PoisonError::into_inner).save(row);
                None
            })
            .into()
    }

    #[napi(catch_unwind)]
    pub fn remove(&self, id: String) {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.listings.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// All listings, as a JSON array.
    #[napi(catch_unwind)]
    pub fn listings(&self) -> String {
        encode_all(self.listings.lock().unwrap_or_else(PoisonError::into_inner).all())
    }

    #[napi(catch_unwind)]
    pub fn save_listing(&self, listing: String) -> NativeReply {
        PersistedListing::from_json(&listing)
            .map(|listing| {
                self.listings
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .save(listing);
                None
            })
            .into()
    }

    /// The trusted definitions of a row, as a JSON array.
    #[napi(catch_unwind)]
    pub fn trusted(&self, id: String) -> Option<String> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.trusted(&id).as_deref().map(encode_tools)
    }
}

/// A store on a file, which is opened by the first that is asked of it.
#[napi]
pub struct NativeSqliteStore {
    worker: Result<Worker>,
}

#[napi]
impl NativeSqliteStore {
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String) -> napi::Result<Self> {
        let runtime = runtime::handle()?;
        Ok(Self {
            worker: Place::parse(&path).map(|place| Worker::new(place, runtime)),
        })
    }

    /// Why the path is none.
    #[napi(catch_unwind)]
    pub fn refusal(&self) -> Option<NativeFailure> {
        self.worker.as_ref().err().map(NativeFailure::from)
    }

    /// All rows, as a JSON array.
    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn list<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.ask(env, |store| Ok(Some(array(&store.list()?))))
    }

    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn save<'env>(&self, env: &'env Env, row: String) -> napi::Result<Object<'env>> {
        self.ask(env, move |store| {
            store.save(&PersistedServer::from_json(&row)?)?;
            Ok(None)
        })
    }

    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn remove<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        self.ask(env, move |store| store.remove(&id).map(|()| None))
    }

    /// The trusted definitions of a row, as a JSON array.
    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn trusted<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        self.ask(env, move |store| Ok(store.trusted(&id)?.as_deref().map(encode_tools)))
    }

    /// All listings, as a JSON array.
    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn listings<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.ask(env, |store| Ok(Some(encode_all(&store.listings()?))))
    }

    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn save_listing<'env>(&self, env: &'env Env, listing: String) -> napi::Result<Object<'env>> {
        self.ask(env, move |store| {
            store.save_listing(&PersistedListing::from_json(&listing)?)?;
            Ok(None)
        })
    }

    /// Closes the file behind everything that was asked before.
    #[napi(ts_return_type = "Promise<NativeReply>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let (debt, promise) = Debt::new(env)?;
        match &self.worker {
            Ok(worker) => worker.close(|| debt.pay(Ok(None))),
            Err(_) => debt.pay(Ok(None)),
        }
        Ok(promise)
    }

    fn ask<'env>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut SqliteStore) -> Result<Option<String>> + Send + 'static,
    ) -> napi::Result<Object<'env>> {
        let (debt, promise) = Debt::new(env)?;
        match &self.worker {
            Ok(worker) => worker.submit(Box::new(|store| debt.pay(store.and_then(work)))),
            Err(error) => debt.pay(Err(Error::new(error.code(), error.message()))),
        }
        Ok(promise)
    }
}

type Resolver = Box<dyn FnOnce(Env) -> napi::Result<NativeReply> + Send>;

/// A promise that is owed an answer. What is dropped unheard, by a task that failed, is answered all the same.
struct Debt(Option<JsDeferred<NativeReply, Resolver>>);

impl Debt {
    fn new(env: &Env) -> napi::Result<(Self, Object<'_>)> {
        let (deferred, promise) = env.create_deferred::<NativeReply, Resolver>()?;
        Ok((Self(Some(deferred)), promise))
    }

    fn pay(mut self, answer: Result<Option<String>>) {
        self.settle(answer);
    }

    fn settle(&mut self, answer: Result<Option<String>>) {
        let Some(deferred) = self.0.take() else { return };
        let answer = answer.and_then(|text| match text {
            Some(text) if text.len() > limits::MAX_TEXT_TO_JS_BYTES => Err(Error::new(
                ErrorCode::Store,
                format!(
                    "the rows have {} bytes, more than JavaScript can hold in one string",
                    text.len()
                ),
            )),
            text => Ok(text),
        });
        deferred.resolve(Box::new(move |_| Ok(answer.into())));
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.settle(Err(Error::new(ErrorCode::Store, "the connection store failed")));
    }
}

fn array(rows: &[PersistedServer]) -> String {
    let rows: Vec<_> = rows.iter().map(PersistedServer::to_json).collect();
    format!("[{}]", rows.join(","))
}
