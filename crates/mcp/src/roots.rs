//! [`Roots`]: the directories that `roots/list` returns
//! (<https://modelcontextprotocol.io/specification/2025-11-25/client/roots>, checked 2026-11).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The granted directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    pub(crate) named: Vec<String>,
    /// The base of relative paths.
    pub(crate) workspace: PathBuf,
    /// The project whose descriptor names the directories; all must be inside it.
    pub(crate) within: Option<PathBuf>,
}

impl Roots {
    pub(crate) fn are_granted(&self) -> bool {
        !self.named.is_empty()
    }

    /// Returns the result of `roots/list`, and warnings about directories left out. Reads the file system each time.
    pub(crate) fn list(&self) -> (Value, Vec<String>) {
        let (mut roots, mut left) = (Vec::new(), Vec::new());
        for named in &self.named {
            match self.one(named) {
                Ok(root) if roots.contains(&root) => {}
                Ok(root) => roots.push(root),
                Err(why) => left.push(format!("root `{named}` is not sent to the server: {why}")),
            }
        }
        (json!({ "roots": roots }), left)
    }

    fn one(&self, named: &str) -> Result<Value, String> {
        let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
        let path = real(&self.workspace.join(named))?;
        if !path.is_dir() {
            return Err("it is not a directory".to_owned());
        }
        // Symlinks are resolved here. An absolute path of the user may be anywhere.
        let home = match &self.within {
            Some(project) => Some(project),
            None if Path::new(named).is_absolute() => None,
            None => Some(&self.workspace),
        };
        if let Some(home) = home
            && !path.starts_with(real(home)?)
        {
            return Err(format!("it is outside {}", home.display()));
        }
        let uri = reqwest::Url::from_file_path(&path).map_err(|()| "it has no file URI".to_owned())?;
        let name = path.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy());
        Ok(json!({ "uri": uri.as_str(), "name": name }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_granted_directories_inside_are_listed() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        for directory in ["project/src", "project/a b", "other", "project-too"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        std::fs::write(at("project/file"), "").unwrap();
        std::os::unix::fs::symlink(at("other"), at("project/out")).unwrap();
        std::os::unix::fs::symlink(at("project/src"), at("project/in")).unwrap();
        let whole = at("other").to_str().unwrap().to_owned();
        for (named, of_user, of_project) in [
            (".", Some("project"), true),
            ("src", Some("project/src"), true),
            ("in", Some("project/src"), true),
            ("a b", Some("project/a%20b"), true),
            ("out", None, false),
            ("../other", None, false),
            ("../project-too", None, false),
            ("file", None, false),
            ("missing", None, false),
            (whole.as_str(), Some("other"), false),
        ] {
            let user = Roots { named: vec![named.to_owned()], workspace: at("project"), within: None };
            let project = Roots { within: Some(at("project")), ..user.clone() };
            for (roots, listed) in [(user, of_user), (project, of_user.filter(|_| of_project))] {
                let (list, left) = roots.list();
                let uris: Vec<&str> = list["roots"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|root| root["uri"].as_str().unwrap())
                    .collect();
                match listed {
                    Some(path) => {
                        assert!(
                            uris.len() == 1
                                && uris[0].starts_with("file:///")
                                && uris[0].ends_with(&format!("/{path}")),
                            "{named}: {uris:?}"
                        );
                        assert!(left.is_empty());
                    }
                    None => assert!(uris.is_empty() && left.len() == 1, "{named}: {uris:?}"),
                }
            }
        }
    }
}
