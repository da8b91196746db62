//! The descriptors in the binary, read beforehand: to read their TOML at each start was most of what a start cost.
//!
//! `shipped.packed` is made of `ensembles/` by `cargo xtask codegen` and holds nothing else; a test compares both. Were it
//! damaged, the TOML is read. Only what this crate wrote is ever unpacked, never anybody's file.

mod descriptors;
mod values;

use crate::diagnostic::Diagnostic;
use crate::ensemble::EnsembleDescriptor;
use crate::load::{Loaded, load_texts};
use crate::plan::Scope;
use crate::shipped::shipped;
use crate::source::SourceMap;

const PACKED: &[u8] = include_bytes!("shipped.packed");

/// As bytes and back. What is not among the descriptors in the binary need not have a form: then it is `None`.
pub(crate) trait Packed: Sized {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()>;
    /// `None`: this is no such thing.
    fn unpack(from: &mut &[u8]) -> Option<Self>;
}

/// All of [`shipped`], as reading them would have it. `None`: what is packed is damaged.
pub(crate) fn load() -> Option<Loaded> {
    unpacked(PACKED)
}

fn unpacked(mut bytes: &[u8]) -> Option<Loaded> {
    let order = Vec::<usize>::unpack(&mut bytes)?;
    let mut sources = SourceMap::new();
    for at in order {
        let (path, text) = shipped().get(at)?;
        sources.add(format!("builtin:{path}"), Scope::Shipped, text);
    }
    let descriptors = Vec::<EnsembleDescriptor>::unpack(&mut bytes)?;
    bytes.is_empty().then_some(Loaded { sources, descriptors, diagnostics: Vec::new() })
}

/// What `shipped.packed` must hold. `None`: something in `ensembles/` has no packed form, or has an error.
pub fn packed_shipped() -> Option<Vec<u8>> {
    let Loaded { sources, descriptors, diagnostics } = load_texts(shipped());
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

    fn texts(loaded: &Loaded) -> Vec<&crate::Source> {
        loaded.sources.iter().map(|(_, source)| source).collect()
    }

    #[test]
    fn what_is_packed_is_what_the_files_say() {
        let read = load_texts(shipped());
        assert!(
            read.diagnostics.is_empty(),
            "a file in ensembles/ has a problem, which nobody would be told"
        );
        let hint = "run `cargo xtask codegen`";
        assert!(packed_shipped().as_deref() == Some(PACKED), "{hint}");
        let found = load().expect(hint);
        assert_eq!(found.descriptors, read.descriptors, "{hint}");
        assert_eq!(texts(&found), texts(&read));
    }

    #[test]
    fn what_is_damaged_is_not_taken() {
        for end in (0..PACKED.len()).step_by(97) {
            assert!(unpacked(&PACKED[..end]).is_none(), "{end}");
        }
        assert!(unpacked(&[PACKED, b"x"].concat()).is_none());
    }

    #[test]
    fn others_are_read_though_there_are_packed_ones() {
        let loaded = crate::load(&[], &[("a.toml", "[ensemble]\nname = \"a\"\ndescription = \"d\"\n")]);
        let names: Vec<_> =
            loaded.descriptors.iter().flat_map(|one| &one.name).map(|name| &name.value).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(crate::load(&[], shipped()).descriptors, load_texts(shipped()).descriptors);
    }
}
