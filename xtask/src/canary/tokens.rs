//! The one place that has to hold secrets: what a server granted, in a file that only its owner can read.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;

/// The directory, in a home.
const PLACE: &str = "/home/.local/share/converse/tokens";
/// What a grant keeps in secret, as pointers.
const FIELDS: [&str; 3] = ["/access", "/refresh", "/client/secret"];

/// The text of such a file without its secrets, if it is one: in its place, with its name and its modes, and nothing but
/// a grant.
pub(super) fn without(path: &Path, text: &str) -> Option<String> {
    let directory = path.parent()?;
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let is_digest = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_private = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.mode() & 0o077 == 0);
    if !is_digest
        || !directory.ends_with(PLACE.trim_start_matches('/'))
        || !is_private(directory)
        || !is_private(path)
    {
        return None;
    }
    let mut grant: Value = serde_json::from_str(text).ok()?;
    for field in FIELDS {
        let secret = grant.pointer_mut(field)?;
        *secret = Value::Null;
    }
    Some(grant.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_grant_in_its_place_and_for_its_owner_may_hold_a_secret() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join(PLACE.trim_start_matches('/'));
        fs::create_dir_all(&directory).unwrap();
        let (private, open) = (|mode| Permissions::from_mode(mode), 0o644);
        fs::set_permissions(&directory, private(0o700)).unwrap();
        let grant =
            r#"{"access":"canary","refresh":"canary","client":{"id":"x","secret":"canary"},"scopes":[]}"#;
        let file = directory.join(format!("{}.json", "0a".repeat(32)));
        fs::write(&file, grant).unwrap();
        fs::set_permissions(&file, private(0o600)).unwrap();
        assert!(without(&file, grant).is_some_and(|text| !text.contains("canary") && text.contains("\"x\"")));
        let kept = grant.replace("[]", "[\"canary\"]");
        assert!(
            without(&file, &kept).is_some_and(|text| text.contains("canary")),
            "a field that is no secret"
        );
        assert_eq!(without(&file, "canary"), None);
        let draft = directory.join("0a.new");
        fs::copy(&file, &draft).unwrap();
        assert_eq!(without(&draft, grant), None);
        fs::set_permissions(&file, private(open)).unwrap();
        assert_eq!(without(&file, grant), None);
    }
}
