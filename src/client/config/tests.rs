use super::*;

fn given() -> Given {
    let env = [
        ("TOKEN", "s3cret-token"),
        ("HOME", "/home/me"),
        ("USERPROFILE", "/home/me"),
        ("PORT", "8080"),
    ];
    Given {
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        inputs: HashMap::new(),
        base: Some(PathBuf::from("/srv/shop")),
    }
}

fn told(loaded: &Loaded) -> Vec<String> {
    let told = loaded.diagnostics.iter();
    told.map(|told| format!("{} {} {}", told.rule.name(), told.origin, told.message))
        .collect()
}

/// The servers of a text without problems.
fn servers(text: &str) -> Vec<String> {
    let loaded = load(text, Some("mcp.json"), Path::new("/srv/shop"), given());
    assert_eq!(told(&loaded), [""; 0], "{text}");
    loaded.servers
}

/// What is told of a text, of which nothing may be left.
fn problems(text: &str) -> Vec<String> {
    let loaded = load(text, Some("mcp.json"), Path::new("/srv/shop"), given());
    assert_eq!(loaded.servers, [""; 0], "{text}");
    told(&loaded)
}

#[test]
fn the_shapes_of_the_usual_hosts() {
    for (text, expected) in [
        (
            r#"{"mcpServers":{"files":{"command":"npx","args":["-y","x",1],"env":{"A":"b","N":3,"Z":null}}}}"#,
            r#"{"type":"stdio","name":"files","command":"npx","args":["-y","x","1"],"env":{"A":"b","N":"3"}}"#,
        ),
        (
            r#"{"servers":{"gh":{"type":"http","url":"https://a.example/mcp","headers":{"X":"y"}}},"inputs":[]}"#,
            r#"{"type":"streamable-http","name":"gh","url":"https://a.example/mcp","headers":{"X":"y"}}"#,
        ),
        (
            r#"{"editor.x":1,"mcp":{"servers":{"a":{"command":"c"}}}}"#,
            r#"{"type":"stdio","name":"a","command":"c"}"#,
        ),
        (
            r#"{"a":{"command":"c"}}"#,
            r#"{"type":"stdio","name":"a","command":"c"}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"url":"https://a.example/sse"}}}"#,
            r#"{"type":"sse","name":"a","url":"https://a.example/sse"}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"url":"https://a.example/mcp?x=/sse"}}}"#,
            r#"{"type":"streamable-http","name":"a","url":"https://a.example/mcp?x=/sse"}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"serverUrl":"https://a.example/sse","transport":"streamableHttp"}}}"#,
            r#"{"type":"streamable-http","name":"a","url":"https://a.example/sse"}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"httpUrl":"https://a.example/"}}}"#,
            r#"{"type":"streamable-http","name":"a","url":"https://a.example/"}"#,
        ),
        (
            r#"{"mcpServers":{"a":{"command":"c","timeoutMs":5,"protocol":"legacy","autoApprove":["x"]}}}"#,
            r#"{"type":"stdio","name":"a","command":"c","timeoutMs":5,"protocol":"legacy"}"#,
        ),
    ] {
        assert_eq!(servers(text), [expected]);
    }
    assert_eq!(
        servers(
            r#"{"mcpServers":{"a":{"command":"c","disabled":true},"b":{"enabled":false,"url":"x"}},"servers":null}"#
        ),
        [""; 0]
    );
}

#[cfg(unix)]
#[test]
fn references_are_filled_in_and_paths_begin_at_the_folder() {
    assert_eq!(
        servers(
            r#"{
                // with a comment, and a comma at the end
                "inputs": [{"id": "key", "type": "promptString", "default": "k"}],
                "servers": {
                    "a": {
                        "command": "./bin/${env:PORT}", "cwd": "sub", "args": ["${PORT:-1}", "${NONE:-d}", "${workspaceFolder}"],
                        "env": {"T": "${TOKEN}", "K": "${input:key}"},
                    },
                    "b": {"type": "sse", "url": "http://h:${PORT}/", "headers": {"Authorization": "Bearer ${TOKEN}"}},
                    "c": {"command": "node", "args": ["./x"]},
                },
            }"#
        ),
        [
            r#"{"type":"stdio","name":"a","command":"/srv/shop/./bin/8080","args":["8080","d","/srv/shop"],"env":{"T":"s3cret-token","K":"k"},"cwd":"/srv/shop/sub"}"#,
            r#"{"type":"sse","name":"b","url":"http://h:8080/","headers":{"Authorization":"Bearer s3cret-token"}}"#,
            r#"{"type":"stdio","name":"c","command":"node","args":["./x"]}"#,
        ]
    );
}

#[test]
fn a_plugins_file_tells_where_the_plugin_lies() {
    let text = r#"{"mcpServers":{
        "a": {"command": "${PLUGIN_ROOT}/bin/a", "cwd": "${PLUGIN_ROOT}/run"},
        "b": {"command": "./bin/b", "cwd": "sub"},
        "c": {"type": "sse", "url": "https://a.example/"}
    }}"#;
    assert_eq!(
        servers(text),
        [
            r#"{"type":"stdio","name":"a","command":"/srv/shop/bin/a","cwd":"/srv/shop/run","cwdRoot":"PLUGIN_ROOT","pluginRoot":"/srv/shop"}"#,
            r#"{"type":"stdio","name":"b","command":"./bin/b","cwd":"sub","pluginRoot":"/srv/shop"}"#,
            r#"{"type":"sse","name":"c","url":"https://a.example/"}"#,
        ]
    );
    let text = r#"{"mcpServers":{"a": {"command": "a", "cwd": "${PLUGIN_DATA}/run"}}}"#;
    assert_eq!(
        problems(text),
        ["server-entry-invalid a mcp.json:1:45: server \"a\": cwd needs the variable PLUGIN_DATA, which is not set"]
    );
    let mut given = given();
    given.env.insert("PLUGIN_DATA".to_owned(), "/data/a".to_owned());
    given.env.insert("PLUGIN_ROOT".to_owned(), "/plugins/a".to_owned());
    assert_eq!(
        load_object(text, given).servers,
        [
            r#"{"type":"stdio","name":"a","command":"a","cwd":"/data/a/run","cwdRoot":"PLUGIN_DATA","pluginRoot":"/plugins/a","pluginDataRoot":"/data/a"}"#
        ]
    );
}

#[test]
fn each_bad_entry_is_told_with_its_place_and_the_rest_is_kept() {
    let text = "{\n  \"mcpServers\": {\n    \"good\": { \"command\": \"c\" },\n    \"bad\": { \"command\": 7, \"args\": \"x\" },\n    \"worse\": { \"type\": \"carrier-pigeon\", \"command\": \"c\" },\n    \"empty\": {},\n    \"both\": { \"command\": \"c\", \"url\": \"u\" },\n    \"wörld\": [\"${TOKEN}\"],\n    \"\": { \"command\": \"c\" }\n  }\n}";
    let loaded = load(text, Some("a/mcp.json"), Path::new("/"), given());
    assert_eq!(loaded.servers.len(), 1);
    assert_eq!(
        told(&loaded),
        [
            "server-entry-invalid bad a/mcp.json:4:36: server \"bad\": args must be an array of strings",
            "server-entry-invalid worse a/mcp.json:5:24: server \"worse\": type must be \"stdio\", \"streamable-http\", \"http\" or \"sse\"; it is \"carrier-pigeon\"",
            "server-entry-invalid empty a/mcp.json:6:14: server \"empty\": it has neither a command nor a url",
            "server-entry-invalid both a/mcp.json:7:13: server \"both\": it has a command and a url, and no type that says which counts",
            "server-entry-invalid wörld a/mcp.json:8:14: server \"wörld\": it must be an object",
            "server-entry-invalid  a/mcp.json:9:9: server \"\": its name is empty",
        ]
    );
}

#[test]
fn what_is_wrong_with_a_field_is_named_without_its_value() {
    for (entry, problem) in [
        (r#"{"command":["s3cret-token"]}"#, "command must be a string"),
        (r#"{"command":""}"#, "command must be a string that is not empty"),
        (r#"{"type":"stdio"}"#, "it has no command"),
        (r#"{"type":"http"}"#, "it has no url"),
        (r#"{"type":3,"command":"c"}"#, "type must be a string"),
        (
            r#"{"command":"c","args":["a",{"s3cret-token":1}]}"#,
            "args[1] must be a string",
        ),
        (
            r#"{"command":"c","args":["${TOKEN} ${NONE}"]}"#,
            "args[0] needs the variable NONE, which is not set",
        ),
        (
            r#"{"command":"c","env":["s3cret-token"]}"#,
            "env must be an object of strings",
        ),
        (
            r#"{"command":"c","env":{"A":["s3cret-token"]}}"#,
            "env.A must be a string",
        ),
        (
            r#"{"command":"c","env":{"A":"${input:key}"}}"#,
            "env.A needs the input key, which was not given",
        ),
        (
            r#"{"command":"c","env":{"A":"${command:pick}"}}"#,
            "env.A needs ${command:pick}, which only an editor can fill in",
        ),
        (r#"{"command":"c","env":{"A=B":"s3cret-token"}}"#, "env"),
        (
            r#"{"command":"c","envFile":".env"}"#,
            "its envFile is not read: set the variables in env",
        ),
        (r#"{"url":"ftp://s3cret-token@x/"}"#, "url must be an http or https URL"),
        (r#"{"url":"https://a/","headers":{"A b":"${TOKEN}"}}"#, "headers"),
        (r#"{"url":"https://a/","headers":{"A":"${TOKEN}\n"}}"#, "headers"),
        (r#"{"command":"c","timeoutMs":-1}"#, "timeoutMs"),
    ] {
        let told = problems(&format!("{{\"mcpServers\":{{\"a\":{entry}}}}}"));
        assert_eq!(told.len(), 1, "{entry}");
        assert!(
            told[0].contains(&format!("server \"a\": {problem}")),
            "{entry}: {}",
            told[0]
        );
        assert!(!told[0].contains("s3cret"), "{entry}: {}", told[0]);
    }
}

#[test]
fn a_name_that_comes_again_counts_with_its_last_entry() {
    let loaded = load(
        "{\"mcpServers\":{\"a\":{\"command\":\"one\"},\n\"a\":{\"command\":\"two\"}},\n\"servers\":{\"a\":{\"command\":\"three\"},\"b\":{\"command\":\"c\"}}}",
        Some("mcp.json"),
        Path::new("/"),
        given(),
    );
    assert_eq!(
        loaded.servers,
        [
            r#"{"type":"stdio","name":"a","command":"three"}"#,
            r#"{"type":"stdio","name":"b","command":"c"}"#
        ]
    );
    assert_eq!(
        told(&loaded),
        [
            "server-name-collision a mcp.json:2:5: server \"a\": the name is taken already, and this entry counts; the other one is at mcp.json:1:20",
            "server-name-collision a mcp.json:3:16: server \"a\": the name is taken already, and this entry counts; the other one is at mcp.json:2:5",
        ]
    );
}

#[test]
fn what_is_no_configuration_at_all_is_told_of_the_file() {
    for (text, problem) in [
        ("", "mcp.json:1:0: it is not JSON: EOF while parsing a value"),
        (
            "{\n  \"mcpServers\": {\n    \"a\": }",
            "mcp.json:3:10: it is not JSON: expected value",
        ),
        (
            "{\"mcpServers\":{}} x",
            "mcp.json:1:19: it is not JSON: trailing characters",
        ),
        ("[1]", "mcp.json:1:1: it must be an object"),
        (
            "{\"a\":1}",
            "mcp.json:1:1: it names no servers: there is neither mcpServers nor servers",
        ),
        (
            "{\"servers\":[]}",
            "mcp.json:1:12: servers must be an object with a member for each server",
        ),
    ] {
        assert_eq!(
            problems(text),
            [format!("server-entry-invalid mcp.json {problem}")],
            "{text}"
        );
    }
}

#[test]
fn an_object_has_no_lines() {
    let loaded = load_object(r#"{"mcpServers":{"a":{},"b":{"command":"c"}}}"#, given());
    assert_eq!(loaded.servers.len(), 1);
    assert_eq!(
        told(&loaded),
        ["server-entry-invalid a server \"a\": it has neither a command nor a url"]
    );
    assert_eq!(
        told(&load_object("7", given())),
        ["server-entry-invalid the configuration it must be an object"]
    );
}

#[test]
fn deep_nesting_is_no_way_to_end_the_process() {
    let deep = format!(
        "{{\"mcpServers\":{{\"a\":{}1{}}}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert_eq!(problems(&deep).len(), 1);
    assert_eq!(problems(&"[".repeat(200_000)).len(), 1);
    let deep = format!(
        "{{\"mcpServers\":{{\"a\":{{\"command\":\"c\",\"env\":{{\"A\":{}}}}}}}}}",
        "{\"x\":".repeat(100_000) + "1" + &"}".repeat(100_000)
    );
    assert_eq!(problems(&deep).len(), 1);
}

#[test]
fn a_file_is_about_its_folder_or_about_the_one_above_an_editors() {
    let folder = |file: &str| folder_of(Path::new(file)).to_str().unwrap().replace('\\', "/");
    assert!(folder("/a/b/mcp.json").ends_with("/a/b"));
    assert!(folder("/a/b/.vscode/mcp.json").ends_with("/a/b"));
    assert!(folder("/a/b/.cursor/mcp.json").ends_with("/a/b"));
    let here = std::env::current_dir().unwrap();
    assert_eq!(folder_of(Path::new("mcp.json")), here);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = std::env::temp_dir().join(format!("espalier-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let latin = folder.join("latin.json");
    std::fs::write(&latin, b"{\"a\":\"\xe9\"}").unwrap();
    for (path, reason) in [
        (folder.join("missing.json"), "entity not found"),
        (folder.clone(), "it is not a file"),
        (latin, "it is not UTF-8"),
    ] {
        let path = path.to_str().unwrap();
        let error = load_file(path, given()).err().unwrap();
        assert_eq!(error.code(), crate::error::ErrorCode::InvalidOption);
        assert_eq!(
            error.message(),
            format!("the configuration {path} cannot be read: {reason}")
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}
