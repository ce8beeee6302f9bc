//! A small server on `rmcp`: `rmcp-server <session | stateless | both> [FILE]`. It prints its address and serves until its
//! standard input ends, so that it never outlives the test that started it. With a file, which holds a JSON array of tools,
//! it lists those in place of its own, keeps no sessions, and answers with JSON: the fastest that it has for a benchmark.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    Implementation, InputRequest, InputRequests, InputRequiredResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let versions = match std::env::args().nth(1).as_deref() {
        Some("session") => SESSION_ERA,
        Some("stateless") => STATELESS_ERA,
        Some("both") => BOTH_ERAS,
        _ => return Err("usage: rmcp-server <session | stateless | both>".into()),
    };
    let mut config = StreamableHttpServerConfig::default();
    let tools: Arc<[Tool]> = match std::env::args().nth(2) {
        None => own_tools().into(),
        Some(file) => {
            config.legacy_session_mode = false;
            config.json_response = true;
            serde_json::from_str::<Vec<Tool>>(&std::fs::read_to_string(file)?)?.into()
        }
    };
    let service = StreamableHttpService::new(
        move || {
            Ok(Fixture {
                versions,
                tools: Arc::clone(&tools),
            })
        },
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

#[derive(Clone)]
struct Fixture {
    versions: &'static [ProtocolVersion],
    tools: Arc<[Tool]>,
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("rmcp-fixture", env!("CARGO_PKG_VERSION")))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.versions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let argument = |name: &str| {
            request
                .arguments
                .as_ref()
                .and_then(|all| all.get(name))
                .and_then(Value::as_str)
        };
        match request.name.as_ref() {
            "echo" => Ok(text(argument("text").unwrap_or_default())),
            "mirror" => Ok(text(argument("region").unwrap_or_default())),
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("as asked")]).into()),
            "progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for step in 1..=3 {
                        let step = ProgressNotificationParam::new(token.clone(), f64::from(step));
                        let _ = context.peer.notify_progress(step.with_total(3.0)).await;
                    }
                }
                Ok(text("done"))
            }
            "slow" => {
                tokio::select! {
                    () = context.ct.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs(60)) => {}
                }
                Ok(text("late"))
            }
            "ask" => {
                let given = request.input_responses.as_ref().and_then(|all| all.get("who"));
                Ok(match given {
                    Some(answer) => text(&format!("Hello, {}", answer["content"]["name"])),
                    None => question().into(),
                })
            }
            other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        }
    }
}

fn own_tools() -> Vec<Tool> {
    vec![
        tool("echo", "Gives its text back", json!({ "text": { "type": "string" } })),
        tool("progress", "Reports three steps", json!({})),
        tool("fail", "Fails", json!({})),
        tool("slow", "Takes a minute", json!({})),
        tool("ask", "Asks for a name", json!({})),
        tool(
            "mirror",
            "Wants an argument in a header too",
            json!({ "region": { "type": "string", "x-mcp-header": "Region" } }),
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let mut schema = rmcp::model::JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties);
    Tool::new(name, description, Arc::new(schema))
}

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn question() -> InputRequiredResult {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let mut requests = InputRequests::new();
    if let Ok(requested_schema) = serde_json::from_value(schema) {
        let form = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "Who is it?".into(),
            requested_schema,
        };
        requests.insert("who".into(), InputRequest::Elicitation(ElicitRequest::new(form)));
    }
    InputRequiredResult::new(Some(requests), Some("state of \"ask\"".into()))
}

const SESSION_ERA: &[ProtocolVersion] = &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25];
const STATELESS_ERA: &[ProtocolVersion] = &[ProtocolVersion::V_2026_07_28];
const BOTH_ERAS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];
