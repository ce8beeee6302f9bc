//! Which file a command means on Windows, where a name without its extension may be a program or a shim for one (`npx` is
//! `npx.cmd`). The system itself would only think of `.exe`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The file behind `command`, or nothing when there is none: then starting it says so. `path` and `extensions` are the
/// values of `PATH` and `PATHEXT`.
pub(super) fn find(command: &str, path: &OsStr, extensions: &str, is_file: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let named = Path::new(command);
    let complete = named.extension().is_some();
    let candidates = |folder: &Path| {
        let file = folder.join(named);
        let as_it_is = complete.then(|| file.clone());
        let with_extension = extensions
            .split(';')
            .filter(|extension| !extension.is_empty())
            .map(move |extension| {
                let mut name = OsString::from(&file);
                name.push(extension);
                PathBuf::from(name)
            });
        as_it_is.into_iter().chain(with_extension)
    };
    if named.components().nth(1).is_some() || named.has_root() {
        return candidates(Path::new("")).find(|file| is_file(file));
    }
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .find_map(|folder| candidates(&folder).find(|file| is_file(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

    fn found(command: &str, files: &[&str]) -> Option<String> {
        let path = std::env::join_paths(["/one", "/two"]).unwrap();
        let is_file = |file: &Path| files.iter().any(|known| Path::new(known) == file);
        find(command, &path, EXTENSIONS, is_file).map(|file| file.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_name_without_extension_may_be_a_shim() {
        let files = ["/two/npx", "/two/npx.CMD", "/one/node.EXE", "/two/node.CMD"];
        assert_eq!(found("npx", &files).as_deref(), Some("/two/npx.CMD"));
        assert_eq!(found("node", &files).as_deref(), Some("/one/node.EXE"));
        assert_eq!(found("deno", &files), None);
    }

    #[test]
    fn folders_come_in_order_and_extensions_in_order_within_them() {
        let files = ["/one/tool.CMD", "/two/tool.EXE", "/one/both.CMD", "/one/both.EXE"];
        assert_eq!(found("tool", &files).as_deref(), Some("/one/tool.CMD"));
        assert_eq!(found("both", &files).as_deref(), Some("/one/both.EXE"));
    }

    #[test]
    fn a_name_with_its_extension_is_taken_as_it_is_first() {
        let files = ["/one/python3.11.EXE", "/two/run.ps1", "/one/app.exe"];
        assert_eq!(found("python3.11", &files).as_deref(), Some("/one/python3.11.EXE"));
        assert_eq!(found("run.ps1", &files).as_deref(), Some("/two/run.ps1"));
        assert_eq!(found("app.exe", &files).as_deref(), Some("/one/app.exe"));
    }

    #[test]
    fn a_path_is_looked_for_where_it_says() {
        let files = ["bin/tool.CMD", "/one/bin/tool.CMD", "/abs/tool.EXE"];
        assert_eq!(found("bin/tool", &files).as_deref(), Some("bin/tool.CMD"));
        assert_eq!(found("/abs/tool", &files).as_deref(), Some("/abs/tool.EXE"));
        assert_eq!(found("./tool", &files), None);
    }
}
