//! No text stops the reader, and what is written from a message reads back as that message.

use crate::json::{self, Object};
use crate::protocol::message::{self, Message, Params};

/// `render` writes a message from its parts; another one than `render` is a broken one.
pub(crate) fn run(data: &[u8], render: impl Fn(&Message<'_>) -> String) {
    let text = String::from_utf8_lossy(data);
    any_text_is_quoted(&text);
    let Ok(read) = Message::parse(&text) else { return };
    let written = render(&read);
    assert!(
        text.contains('\n') || !written.contains('\n'),
        "one message, one line: {written}"
    );
    match Message::parse(&written) {
        Ok(again) => assert_eq!(format!("{again:?}"), format!("{read:?}"), "written as {written}"),
        Err(error) => panic!("{error:?}: {written}"),
    }
}

pub(crate) fn render(message: &Message<'_>) -> String {
    match message {
        Message::Request { id, method, params } => {
            let params = params.map_or("null", |params| params.get());
            format!(
                "{{\"id\":{},\"method\":{},\"params\":{params}}}",
                id.text(),
                json::quote(method)
            )
        }
        Message::Notification { method, params } => {
            let params = params.map_or("null", |params| params.get());
            format!("{{\"method\":{},\"params\":{params}}}", json::quote(method))
        }
        Message::Response {
            id: Some(id),
            outcome: Ok(result),
        } => message::result(id.text(), result.get()),
        Message::Response {
            id: Some(id),
            outcome: Err(error),
        } => message::error(id.text(), error),
        Message::Response {
            id: None,
            outcome: Ok(result),
        } => format!("{{\"id\":null,\"result\":{}}}", result.get()),
        Message::Response {
            id: None,
            outcome: Err(error),
        } => format!("{{\"id\":null,\"error\":{}}}", error.to_json()),
    }
}

/// Whatever a caller passes as text arrives as that text.
fn any_text_is_quoted(text: &str) {
    let line = message::request(
        7,
        "tools/call",
        &Params::new().text("name", text).raw("arguments", "{}"),
        Some(7),
        "",
    );
    assert!(!line.contains(['\n', '\r']), "{line:?}");
    let Ok(Message::Request {
        id,
        params: Some(params),
        ..
    }) = Message::parse(&line)
    else {
        panic!("{line}")
    };
    assert_eq!(id.number(), Some(7));
    let params = Object::parse(params.get()).unwrap_or_default();
    assert_eq!(params.string("name").as_deref(), Some(text), "{line}");
    assert!(params.object("_meta").is_some(), "{line}");
}
