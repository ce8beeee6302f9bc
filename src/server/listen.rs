//! Who is told that something changed. In the session era every connection is told, and of single resources those that
//! subscribed; in the stateless era, whoever listens for it, on the stream of the request that said so.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::connection::{Connection, Weight};
use super::exchange::Exchange;
use super::lifecycle::Server;
use super::listening::{Filter, Listening};
use crate::host::Change;
use crate::host::server::Abort;
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::{self, Params};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

impl Server {
    /// `subscriptions/listen`: nothing when the client ended it, otherwise the result that ends it in order.
    pub(crate) async fn listen(
        &self,
        exchange: &Arc<Exchange>,
        key: &str,
        params: Option<&RawValue>,
    ) -> Result<Option<String>, WireError> {
        let filter = Filter::parse(params)?;
        let offer = self.offer();
        let honoured = Filter {
            tools: filter.tools,
            prompts: filter.prompts && offer.has_prompts,
            resources: filter.resources && offer.has_resources,
            uris: if offer.has_resources {
                filter.uris
            } else {
                HashSet::new()
            },
        };
        let id: Arc<str> = Arc::from(&*exchange.id);
        let acknowledgement = notification(
            "notifications/subscriptions/acknowledged",
            Params::new().raw("notifications", &honoured.to_json()),
            &id,
        );
        let connection = &exchange.connection;
        let _told = self.enlist(connection);
        // A stream that is open for long counts as a connection where it is not part of one that does.
        let _counted = if connection.is_member() {
            None
        } else {
            self.admit(&connection.identity.tenant, exchange.revision.era())?
        };
        let listening = Listening { id, filter: honoured };
        if !connection.listen(key.to_owned(), listening, acknowledgement) {
            return Err(WireError::internal(format!(
                "a connection has at most {} subscriptions",
                limits::MAX_LISTENERS
            )));
        }
        let reason = exchange.until_given_up().await;
        connection.stop_listening(key);
        Ok((reason == Abort::Stopped).then(|| {
            format!(
                "{{\"resultType\":\"complete\",\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}}}",
                exchange.id
            )
        }))
    }

    /// Tells every connection in `who` that a list changed.
    pub(crate) fn tell_changed(&self, change: Change, who: impl Fn(&Connection) -> bool) {
        let method = match change {
            Change::Tools => "notifications/tools/list_changed",
            Change::Prompts => "notifications/prompts/list_changed",
            Change::Resources => "notifications/resources/list_changed",
        };
        for connection in self.connections() {
            if !who(&connection) {
                continue;
            }
            if connection.is_ready() {
                connection.send(None, message::notification(method, &Params::new()), Weight::Droppable);
            }
            let listening = connection.listening_for(|listening| listening.filter.wants(change));
            for id in listening {
                let text = notification(method, Params::new(), &id);
                connection.send(Some(&id), text, Weight::Droppable);
            }
        }
    }

    /// Tells a connection that a resource was updated, if it wants to know.
    pub(crate) fn tell_updated(connection: &Connection, uri: &str) {
        let method = "notifications/resources/updated";
        let params = Params::new().text("uri", uri);
        if connection.is_ready() && connection.is_subscribed(uri) {
            let text = message::notification(method, &params);
            connection.send(None, text, Weight::Droppable);
        }
        for id in connection.listening_for(|listening| listening.filter.uris.contains(uri)) {
            let text = notification(method, params.clone(), &id);
            connection.send(Some(&id), text, Weight::Droppable);
        }
    }

    /// Whether somebody on it wants to know of such a resource.
    pub(crate) fn is_wanted(connection: &Connection, uri: &str) -> bool {
        (connection.is_ready() && connection.is_subscribed(uri))
            || !connection
                .listening_for(|listening| listening.filter.uris.contains(uri))
                .is_empty()
    }
}

/// A notification on the stream of a subscription.
fn notification(method: &str, params: Params, id: &str) -> String {
    let params = params.raw("_meta", &format!("{{\"{SUBSCRIPTION_ID}\":{id}}}"));
    message::notification(method, &params)
}
