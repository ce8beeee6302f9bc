//! A port that asks for tokens. Whoever judges them is the program; here is what holds whatever it does.

use super::{Stage, initialize, post};

const AUTH: &str =
    r#""auth":{"resource":"https://mcp.example/mcp","authorizationServers":["https://id.example"],"scopes":["a"]}"#;
const HINT: &str = r#"resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp", scope="a""#;

#[tokio::test]
async fn the_program_is_not_asked_about_whoever_has_no_token() {
    let stage = Stage::http(AUTH).await;
    for (headers, status) in [
        (&[][..], 401),
        (&[("authorization", "Basic YTpi")], 401),
        (&[("authorization", "Bearer a b")], 400),
        (&[("authorization", "Bearer a"), ("authorization", "Bearer a")], 400),
    ] {
        // What the program is asked about that tenant stays with it.
        let headers: Vec<_> = headers.iter().copied().chain([("x-tenant", "slow")]).collect();
        let reply = stage.ask(post("/mcp", &headers, &initialize("2025-11-25"))).await;
        assert_eq!((reply.status, reply.body.as_str()), (status, ""), "{headers:?}");
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.ends_with(HINT), "{challenge}");
    }
    assert!(stage.program.jobs.lock().unwrap().is_empty());
    stage.stopped().await;
}

#[tokio::test]
async fn nobody_comes_in_whom_the_program_does_not_name() {
    // The option that says that the program is to be asked is left out, too.
    let stage = Stage::http(AUTH).await;
    // A tenant is no answer to whose token it is.
    let headers = [("authorization", "Bearer a"), ("x-tenant", "acme")];
    let reply = stage.ask(post("/mcp", &headers, &initialize("2025-11-25"))).await;
    let challenge = format!("Bearer {HINT}");
    assert_eq!(
        (reply.status, reply.header("www-authenticate")),
        (401, Some(challenge.as_str()))
    );
    stage.stopped().await;
}
