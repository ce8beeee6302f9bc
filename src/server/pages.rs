//! Lists, page by page: what is at hand, and what the program is asked for.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::answer;
use super::exchange::Exchange;
use super::jobs::Task;
use super::lifecycle::Server;
use super::list_kind::ListKind;
use super::lists::{Entries, Wanted, clash};
use super::render;
use super::slots::Slot;
use crate::host::server::Performed;
use crate::json::{self, Object};
use crate::protocol::codes::WireError;
use crate::protocol::message::Params;
use crate::protocol::revision::Era;

impl Server {
    /// A page that is at hand; nothing when the program has to be asked.
    pub(crate) fn page_at_hand(
        &self,
        wanted: &Wanted<'_>,
        params: Option<&RawValue>,
    ) -> Option<Result<Arc<str>, WireError>> {
        let offset = match self.offset(wanted.kind, params) {
            Ok(offset) => offset,
            Err(error) => return Some(Err(error)),
        };
        if let Some(page) = self.lists().page(wanted.key(), wanted.page(offset)) {
            return Some(Ok(page));
        }
        let entries = self.lists().entries(wanted.key())?;
        Some(self.render_page(wanted, &entries, offset))
    }

    /// A page, for which the program is asked.
    pub(crate) async fn page(
        &self,
        exchange: &Arc<Exchange>,
        slot: &Slot,
        wanted: &Wanted<'_>,
        params: Option<&RawValue>,
    ) -> Result<Arc<str>, WireError> {
        let offset = self.offset(wanted.kind, params)?;
        let entries = self.entries(exchange, Some(slot), wanted).await?;
        self.render_page(wanted, &entries, offset)
    }

    /// A whole list: the kept one, or one that the program is asked for.
    pub(crate) async fn entries(
        &self,
        exchange: &Arc<Exchange>,
        slot: Option<&Slot>,
        wanted: &Wanted<'_>,
    ) -> Result<Arc<Entries>, WireError> {
        if let Some(entries) = self.lists().entries(wanted.key()) {
            return Ok(entries);
        }
        let generation = self.lists().generation();
        let task = Task {
            kind: wanted.kind.job(),
            runtime: wanted.route.runtime,
            name: "",
            text: String::new(),
            answers: None,
        };
        let (text, is_shared) = match self.jobs().perform(exchange, slot, task).await {
            Some(Performed::Value { text, is_shared }) => (text, is_shared),
            Some(Performed::Thrown { reference, .. }) => return Err(answer::thrown(&reference)),
            _ => return Err(WireError::internal("Internal error")),
        };
        let entries = Entries::parse(wanted.kind, wanted.route.is_of_tenant, &text)
            .map(Arc::new)
            .ok_or_else(|| WireError::internal("Internal error"))?;
        if is_shared {
            self.lists().keep(wanted.key(), &entries, generation);
        }
        Ok(entries)
    }

    fn render_page(&self, wanted: &Wanted<'_>, entries: &Arc<Entries>, offset: usize) -> Result<Arc<str>, WireError> {
        if let Some(name) = &entries.clash {
            return Err(clash(name));
        }
        let visible: Vec<_> = entries.visible(wanted.route.has_tenant).collect();
        let size = self.options().page_size.unwrap_or(usize::MAX);
        let end = offset.saturating_add(size).min(visible.len());
        let mut rendered = String::from("[");
        for entry in visible.get(offset..end).unwrap_or_default() {
            if rendered.len() > 1 {
                rendered.push(',');
            }
            let object = Object::parse(entry.text.get()).unwrap_or_default();
            rendered.push_str(&render::entry(wanted.kind, &object, wanted.revision));
        }
        rendered.push(']');
        let mut params = Params::new().raw(wanted.kind.member(), &rendered);
        if end < visible.len() {
            params = params.text("nextCursor", &self.cursors().issue(wanted.kind.mark(), end));
        }
        if wanted.revision.era() == Era::Stateless {
            params = params.members(&self.options().cache_hints);
        }
        let page: Arc<str> = self.result(wanted.revision, params, None).into();
        self.lists()
            .keep_page(wanted.key(), entries, wanted.page(offset), &page);
        Ok(page)
    }

    fn offset(&self, kind: ListKind, params: Option<&RawValue>) -> Result<usize, WireError> {
        let cursor = params
            .and_then(|params| Object::parse(params.get()))
            .and_then(|params| params.present("cursor"));
        let Some(cursor) = cursor else {
            return Ok(0);
        };
        json::string(cursor.get())
            .and_then(|cursor| self.cursors().read(kind.mark(), &cursor))
            .ok_or_else(|| WireError::invalid_params("Invalid cursor"))
    }
}
