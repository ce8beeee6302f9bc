use std::fs;

use super::*;

fn launch(command: &str, plugin: Plugin) -> Launch {
    Launch {
        command: command.to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
        plugin,
    }
}

fn rooted(root: &str) -> Plugin {
    Plugin {
        root: Some(root.to_owned()),
        ..Plugin::default()
    }
}

#[test]
fn a_server_without_a_plugin_passes_through() {
    let mut plain = launch("../anywhere/server", Plugin::default());
    plain.args = vec!["/plugins/acme".to_owned()];
    plain.cwd = Some("/no/such/folder".to_owned());
    for same in [plain.on_host(Some("/host")), plain.prepared().unwrap()] {
        assert_eq!(same.command, "../anywhere/server");
        assert_eq!(same.args, ["/plugins/acme"]);
        assert_eq!(same.cwd.as_deref(), Some("/no/such/folder"));
        assert!(same.env.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn paths_below_a_plugin_root_get_the_place_of_the_plugin_on_this_host() {
    let plugin = Plugin {
        root: Some("/plugins/acme/".to_owned()),
        data: Some("/data/acme".to_owned()),
        cwd_root: Some(CwdRoot::Data),
    };
    let text = |text: &str| text.to_owned();
    let configured = Launch {
        command: text("/plugins/acme/bin/server"),
        args: [
            "/plugins/acme",
            "/plugins/acme-two/x",
            "--root=/plugins/acme",
            "/data/acme/x",
            "/data",
            "",
        ]
        .map(text)
        .to_vec(),
        env: vec![(text("A"), text("/data/acme")), (text("/data/acme"), text("b"))],
        cwd: Some(text("/data/acme/run")),
        plugin: plugin.clone(),
    };
    for host_root in ["/host", "/host/"] {
        let mapped = configured.on_host(Some(host_root));
        assert_eq!(mapped.command, "/host/plugins/acme/bin/server");
        assert_eq!(
            mapped.args,
            [
                "/host/plugins/acme",
                "/plugins/acme-two/x",
                "--root=/plugins/acme",
                "/host/data/acme/x",
                "/data",
                ""
            ]
        );
        assert_eq!(
            mapped.env,
            [(text("A"), text("/host/data/acme")), (text("/data/acme"), text("b"))]
        );
        assert_eq!(mapped.cwd.as_deref(), Some("/host/data/acme/run"));
        assert_eq!(mapped.plugin.root.as_deref(), Some("/host/plugins/acme/"));
        assert_eq!(mapped.plugin.data.as_deref(), Some("/host/data/acme"));
    }
    assert_eq!(configured.on_host(Some("/")).command, configured.command);
    assert_eq!(configured.on_host(None).plugin, plugin);
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("espalier-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(fs::canonicalize(folder).unwrap())
    }

    fn path(&self, below: &str) -> String {
        self.0.join(below).to_str().unwrap().to_owned()
    }

    fn file(&self, below: &str) -> String {
        let path = self.0.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        self.path(below)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// What became of a command: it is inside, or the words of the error, in short.
fn judged(command: &str, root: &str) -> String {
    match launch(command, rooted(root)).prepared() {
        Ok(launch) => launch.command,
        Err(error) if error.is_from::<Escape>() => {
            assert_eq!(
                error.message(),
                format!("its command `{command}` lies outside the plugin, once links are followed")
            );
            "outside".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

#[cfg(unix)]
#[test]
fn a_command_has_to_lie_in_the_plugin_once_links_are_followed() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new("contained");
    let root = folder.path("plugin");
    let server = folder.file("plugin/bin/server");
    let other = folder.file("plugin-two/server");
    symlink(&server, folder.path("plugin/inward")).unwrap();
    symlink("bin/../bin/server", folder.path("plugin/relative")).unwrap();
    symlink(&other, folder.path("plugin/outward")).unwrap();
    symlink("/usr", folder.path("plugin/usr")).unwrap();
    symlink("nowhere", folder.path("plugin/dangling")).unwrap();
    symlink("loop", folder.path("plugin/loop")).unwrap();
    symlink(&root, folder.path("alias")).unwrap();

    for inside in [
        "bin/server",
        "inward",
        "relative",
        "bin/../inward",
        "missing",
        "missing/../bin/server",
        "dangling",
        "loop",
    ] {
        let path = format!("{root}/{inside}");
        assert_eq!(judged(&path, &root), path);
        assert_eq!(judged(&path, &folder.path("alias")), path, "a root behind a link");
        assert_eq!(judged(&path, &format!("{root}/")), path);
    }
    // What the configuration says relatively is relative to the plugin.
    assert_eq!(judged("./bin/server", &root), format!("{root}/./bin/server"));
    // A bare name is looked for elsewhere.
    assert_eq!(judged("node", &root), "node");
    for outside in [
        other.clone(),
        format!("{root}/outward"),
        format!("{root}/../plugin-two/server"),
        format!("{root}/usr/bin/env"),
        format!("{root}/missing/../../gone"),
        format!("{root}/usr/../etc/passwd"),
        "/bin/sh".to_owned(),
        "../plugin-two/server".to_owned(),
        "./usr/bin/env".to_owned(),
    ] {
        assert_eq!(judged(&outside, &root), "outside", "{outside}");
    }
}

#[cfg(unix)]
#[test]
fn a_working_directory_has_to_lie_in_the_root_it_was_declared_against() {
    let folder = Folder::new("directory");
    let inner = folder.file("plugin/inner/x");
    let run = folder.file("data/run/x");
    let judged = |cwd: &str, cwd_root: Option<CwdRoot>| {
        let launch = Launch {
            cwd: Some(cwd.to_owned()),
            ..launch(
                "node",
                Plugin {
                    root: Some(folder.path("plugin")),
                    data: Some(folder.path("data")),
                    cwd_root,
                },
            )
        };
        match launch.prepared() {
            Ok(launch) => launch.cwd.unwrap(),
            Err(error) => {
                assert!(error.is_from::<Escape>(), "{error}");
                assert!(error.message().contains(&format!("its working directory `{cwd}`")));
                "outside".to_owned()
            }
        }
    };
    let inner = inner.trim_end_matches("/x");
    let run = run.trim_end_matches("/x");
    assert_eq!(judged(inner, None), inner);
    assert_eq!(judged(run, None), run);
    assert_eq!(judged(inner, Some(CwdRoot::Root)), inner);
    assert_eq!(judged(run, Some(CwdRoot::Data)), run);
    assert_eq!(judged("run", Some(CwdRoot::Data)), run);
    assert_eq!(judged("inner", None), inner);
    assert_eq!(judged(inner, Some(CwdRoot::Data)), "outside");
    assert_eq!(judged(run, Some(CwdRoot::Root)), "outside");
    assert_eq!(judged("/", None), "outside");
    assert_eq!(judged("../data", Some(CwdRoot::Root)), "outside");
}

#[test]
fn the_plugin_variables_are_the_last_word_of_the_environment() {
    let folder = Folder::new("variables");
    let mut launch = launch(
        "node",
        Plugin {
            root: Some(folder.path("plugin")),
            data: Some(folder.path("data/of/plugin")),
            cwd_root: None,
        },
    );
    launch.env = ["PLUGIN_DATA", "OTHER", "PLUGIN_ROOT"]
        .map(|name| (name.to_owned(), "configured".to_owned()))
        .to_vec();
    let prepared = launch.prepared().unwrap();
    let env = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        prepared.env,
        [
            env("OTHER", "configured"),
            env("PLUGIN_ROOT", &folder.path("plugin")),
            env("PLUGIN_DATA", &folder.path("data/of/plugin"))
        ]
    );
    assert_eq!(
        fs::read_dir(folder.path("data/of/plugin")).unwrap().count(),
        0,
        "the proof is gone"
    );
}

#[test]
fn a_data_folder_that_cannot_be_written_to_is_named_with_its_rule() {
    let folder = Folder::new("data");
    let file = folder.file("file");
    for impossible in [file.clone(), format!("{file}/below")] {
        let plugin = Plugin {
            data: Some(impossible.clone()),
            ..Plugin::default()
        };
        let error = launch("node", plugin).prepared().err().unwrap();
        assert!(!error.is_from::<Escape>());
        for part in ["PLUGIN_DATA", "§9.1", impossible.as_str()] {
            assert!(error.message().contains(part), "{error}");
        }
    }
}

#[test]
fn the_root_of_a_working_directory_is_known_by_several_names() {
    for name in ["PLUGIN_ROOT", "${PLUGIN_ROOT}", "pluginRoot", "plugin-root", "plugin"] {
        assert_eq!(CwdRoot::parse(name), Some(CwdRoot::Root), "{name}");
    }
    for name in ["PLUGIN_DATA", "${PLUGIN_DATA}", "pluginDataRoot", "data"] {
        assert_eq!(CwdRoot::parse(name), Some(CwdRoot::Data), "{name}");
    }
    for name in ["", "home", "PLUGIN"] {
        assert_eq!(CwdRoot::parse(name).is_some(), name == "PLUGIN", "{name}");
    }
}
