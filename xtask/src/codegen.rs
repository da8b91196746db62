//! Pages of the reference that are made from the code. A test of the crate that owns a page says when it is out of date.

use std::path::Path;

use crate::Result;

pub(crate) fn run() -> Result<()> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    std::fs::create_dir_all(&reference)?;
    std::fs::write(reference.join("codes.md"), converse_config::codes_markdown())?;
    println!("docs/reference/codes.md");
    Ok(())
}
