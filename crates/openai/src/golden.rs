//! Recorded outputs, which `xtask/openai/golden.py` feeds to the types of OpenAI's own library.

use std::path::Path;

/// Compares with a recorded output.
pub(super) fn assert_golden(name: &str, bytes: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden").join(name);
    if option_env!("CONVERSE_GOLDEN") == Some("write") {
        std::fs::write(&path, bytes).unwrap();
    }
    let recorded = std::fs::read(&path).unwrap_or_default();
    let (recorded, found) = (String::from_utf8_lossy(&recorded), String::from_utf8_lossy(bytes));
    assert_eq!(
        found, recorded,
        "{name} differs; if that is intended: touch the crate, CONVERSE_GOLDEN=write"
    );
}
