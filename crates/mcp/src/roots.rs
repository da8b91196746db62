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

    /// Returns what a client's answer to `roots/list` and the granted directories have in common.
    pub(crate) fn within_granted(&self, answer: &Value) -> Value {
        let granted: Vec<PathBuf> = self.named.iter().filter_map(|named| self.granted(named).ok()).collect();
        let mut roots = Vec::new();
        for root in answer["roots"].as_array().into_iter().flatten() {
            let url = root["uri"].as_str().and_then(|uri| reqwest::Url::parse(uri).ok());
            let path = url.and_then(|url| url.to_file_path().ok()).and_then(|path| path.canonicalize().ok());
            let Some(path) = path else { continue };
            if granted.iter().any(|granted| path.starts_with(granted)) {
                roots.push(root.clone());
            } else {
                let below = granted.iter().filter(|granted| granted.starts_with(&path));
                roots.extend(below.filter_map(|granted| root_of(granted).ok()));
            }
        }
        json!({ "roots": roots })
    }

    fn one(&self, named: &str) -> Result<Value, String> {
        root_of(&self.granted(named)?)
    }

    fn granted(&self, named: &str) -> Result<PathBuf, String> {
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
        Ok(path)
    }
}

fn root_of(path: &Path) -> Result<Value, String> {
    let uri = reqwest::Url::from_file_path(path).map_err(|()| "it has no file URI".to_owned())?;
    let name = path.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy());
    Ok(json!({ "uri": uri.as_str(), "name": name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_of_a_client_count_within_the_granted_ones() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().canonicalize().unwrap().join(path);
        for directory in ["project/src/deep", "other"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("project/src/out")).unwrap();
        let roots = Roots { named: vec!["src".to_owned()], workspace: at("project"), within: None };
        for (client, common) in [
            ("project/src/deep", Some("project/src/deep")),
            ("project/src", Some("project/src")),
            ("project", Some("project/src")),
            ("other", None),
            ("project/src/out", None),
            ("project/src/../../other", None),
            ("missing", None),
        ] {
            let answer = json!({ "roots": [{ "uri": format!("file://{}", at(client).display()) }, { "uri": "x:y" }, 5] });
            let found = roots.within_granted(&answer);
            let uris: Vec<&Value> =
                found["roots"].as_array().unwrap().iter().map(|root| &root["uri"]).collect();
            let wanted = common.map(|path| Value::from(format!("file://{}", at(path).display())));
            assert_eq!(uris, wanted.iter().collect::<Vec<_>>(), "{client}");
        }
        assert_eq!(roots.within_granted(&json!({})), json!({ "roots": [] }));
    }

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
