//! Pages of the reference that are made from the code, and the descriptors of the binary as it reads them. A test of the
//! crate that owns one says when it is out of date.

use std::path::Path;

use crate::Result;

pub(crate) fn run() -> Result<()> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    std::fs::create_dir_all(&reference)?;
    let schema = converse_config::schema_text;
    for (name, page) in [
        ("codes.md", converse_config::codes_markdown()),
        ("ensemble.schema.json", schema(&converse_config::ensemble_schema())),
        ("invoker.schema.json", schema(&converse_config::invoker_schema())),
    ] {
        std::fs::write(reference.join(name), page)?;
        println!("docs/reference/{name}");
    }
    let packed = converse_config::packed_shipped()
        .ok_or("a file in ensembles/ has an error, or what has no packed form")?;
    std::fs::write(reference.join("../../crates/config/src/shipped.packed"), packed)?;
    println!("crates/config/src/shipped.packed");
    Ok(())
}
