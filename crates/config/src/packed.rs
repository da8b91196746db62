//! The shipped descriptors in parsed form, because parsing their TOML was most of the start-up time.
//!
//! `cargo xtask codegen` makes `shipped.packed` from `ensembles/`; a test compares both. If it is damaged, the TOML is
//! parsed. Only data of this crate is ever unpacked, never a user's file.

mod descriptors;
mod values;

use crate::diagnostic::Diagnostic;
use crate::ensemble::EnsembleDescriptor;
use crate::load::{LoadedFiles, load_texts};
use crate::plan::Scope;
use crate::shipped::shipped;
use crate::source::SourceMap;

const PACKED: &[u8] = include_bytes!("shipped.packed");

/// Conversion to bytes and back.
pub(crate) trait Packed: Sized {
    /// Returns `None` if the value has no packed form; only values of shipped descriptors need one.
    fn pack(&self, to: &mut Vec<u8>) -> Option<()>;
    /// Returns `None` if the bytes are not such a value.
    fn unpack(from: &mut &[u8]) -> Option<Self>;
}

/// Returns all of [`shipped`] as if parsed, or `None` if the packed data is damaged.
pub(crate) fn load() -> Option<LoadedFiles> {
    unpacked(PACKED)
}

fn unpacked(mut bytes: &[u8]) -> Option<LoadedFiles> {
    let order = Vec::<usize>::unpack(&mut bytes)?;
    let mut sources = SourceMap::new();
    for at in order {
        let (path, text) = shipped().get(at)?;
        sources.add(format!("builtin:{path}"), Scope::Shipped, text);
    }
    let descriptors = Vec::<EnsembleDescriptor>::unpack(&mut bytes)?;
    bytes.is_empty().then_some(LoadedFiles { sources, descriptors, diagnostics: Vec::new() })
}

/// Returns the content for `shipped.packed`, or `None` if something in `ensembles/` has an error or no packed form.
pub fn packed_shipped() -> Option<Vec<u8>> {
    let LoadedFiles { sources, descriptors, diagnostics } = load_texts(shipped());
    if diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let at = |path: &str| shipped().iter().position(|(file, _)| path.strip_prefix("builtin:") == Some(file));
    let order: Vec<usize> = sources.iter().map(|(_, source)| at(&source.path)).collect::<Option<_>>()?;
    let mut bytes = Vec::new();
    order.pack(&mut bytes)?;
    descriptors.pack(&mut bytes)?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(loaded: &LoadedFiles) -> Vec<&crate::Source> {
        loaded.sources.iter().map(|(_, source)| source).collect()
    }

    #[test]
    fn packed_descriptors_equal_the_files() {
        let read = load_texts(shipped());
        assert!(
            read.diagnostics.is_empty(),
            "a file in ensembles/ has a problem, which would not be reported"
        );
        let hint = "run `cargo xtask codegen`";
        assert!(packed_shipped().as_deref() == Some(PACKED), "{hint}");
        let found = load().expect(hint);
        assert_eq!(found.descriptors, read.descriptors, "{hint}");
        assert_eq!(texts(&found), texts(&read));
    }

    #[test]
    fn damaged_data_is_refused() {
        for end in (0..PACKED.len()).step_by(97) {
            assert!(unpacked(&PACKED[..end]).is_none(), "{end}");
        }
        assert!(unpacked(&[PACKED, b"x"].concat()).is_none());
    }

    #[test]
    fn other_descriptors_are_parsed() {
        let loaded = crate::load(&[], &[("a.toml", "[ensemble]\nname = \"a\"\ndescription = \"d\"\n")]);
        let names: Vec<_> =
            loaded.descriptors.iter().flat_map(|one| &one.name).map(|name| &name.value).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(crate::load(&[], shipped()).descriptors, load_texts(shipped()).descriptors);
    }
}
