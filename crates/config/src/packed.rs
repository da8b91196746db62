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

/// The shipped ensembles, each unpacked only if it is used.
pub(crate) struct PackedEnsembles<'b> {
    /// All files of [`shipped`].
    pub(crate) sources: SourceMap,
    /// Names, and what is packed.
    ensembles: Vec<(String, &'b [u8])>,
}

/// Returns what is in the binary, or `None` if it is damaged.
pub(crate) fn open() -> Option<PackedEnsembles<'static>> {
    PackedEnsembles::open(PACKED)
}

impl<'b> PackedEnsembles<'b> {
    fn open(mut bytes: &'b [u8]) -> Option<Self> {
        let order = Vec::<usize>::unpack(&mut bytes)?;
        let mut sources = SourceMap::new();
        for at in order {
            let (path, text) = shipped().get(at)?;
            sources.add(format!("builtin:{path}"), Scope::Shipped, text);
        }
        let mut ensembles = Vec::new();
        for _ in 0..usize::unpack(&mut bytes)? {
            let (name, length) = (String::unpack(&mut bytes)?, usize::unpack(&mut bytes)?);
            let (packed, rest) = bytes.split_at_checked(length)?;
            ensembles.push((name, packed));
            bytes = rest;
        }
        bytes.is_empty().then_some(Self { sources, ensembles })
    }

    /// Returns the ensembles of these names as if parsed, except for positions inside schemas. `None` if one is damaged.
    pub(crate) fn unpack(&self, is_used: impl Fn(&str) -> bool) -> Option<Vec<EnsembleDescriptor>> {
        let used = self.ensembles.iter().filter(|(name, _)| is_used(name));
        let unpacked = |mut bytes: &[u8]| EnsembleDescriptor::unpack(&mut bytes).filter(|_| bytes.is_empty());
        used.map(|(_, bytes)| unpacked(bytes)).collect()
    }
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
    descriptors.len().pack(&mut bytes)?;
    for descriptor in descriptors {
        let mut packed = Vec::new();
        descriptor.pack(&mut packed)?;
        descriptor.name?.value.pack(&mut bytes)?;
        packed.len().pack(&mut bytes)?;
        bytes.extend(packed);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sources: &SourceMap) -> Vec<&crate::Source> {
        sources.iter().map(|(_, source)| source).collect()
    }

    /// Positions inside schemas are not packed.
    fn without_places(mut descriptors: Vec<EnsembleDescriptor>) -> Vec<EnsembleDescriptor> {
        let invokers = descriptors.iter_mut().flat_map(|ensemble| &mut ensemble.invokers);
        for arguments in
            invokers.flat_map(|entry| &mut entry.invoker).flat_map(|invoker| &mut invoker.arguments)
        {
            arguments.places = Default::default();
        }
        descriptors
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
        let found = open().expect(hint);
        assert_eq!(found.unpack(|_| true), Some(without_places(read.descriptors)), "{hint}");
        assert_eq!(texts(&found.sources), texts(&read.sources));
    }

    /// Two ensembles meet if they have the same name, or tools with the same prefix.
    #[test]
    fn only_ensembles_that_are_used_are_unpacked() {
        let names = |named: Option<&[String]>, dir: &crate::Root| -> Vec<String> {
            let loaded = crate::load_named(std::slice::from_ref(dir), shipped(), named);
            assert_eq!(texts(&loaded.sources).len(), shipped().len() + 1, "all files are known");
            loaded.descriptors.into_iter().map(|one| one.name.unwrap().value).collect()
        };
        let dir = std::env::temp_dir().join(format!("packed-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let root = crate::Root { scope: Scope::User, dir: dir.clone(), shown: "e".to_owned() };
        let write = |head: &str| {
            std::fs::write(dir.join("x.toml"), format!("[ensemble]\n{head}\ndescription = \"d\"\n")).unwrap();
        };
        write("name = \"x\"");
        let [git, io, x] = ["git", "io", "x"].map(str::to_owned);
        assert_eq!(names(Some(&[]), &root), ["x"]);
        assert_eq!(names(Some(&[git, x]), &root), ["git", "x"]);
        assert_eq!(names(None, &root), ["code", "essentials", "git", "io", "web", "x"]);
        write("name = \"x\"\nprefix = \"io\"");
        assert_eq!(names(Some(&[]), &root), ["io", "x"]);
        write("name = \"io\"");
        assert_eq!(names(Some(&[]), &root), ["io", "io"]);
        assert_eq!(names(Some(&[io]), &root), ["io", "io"]);
        std::fs::remove_dir_all(dir).unwrap();
        assert!(open().unwrap().unpack(|_| true).unwrap().iter().all(|one| one.prefix.is_none()));
    }

    #[test]
    fn damaged_data_is_refused() {
        let unpacked = |bytes: &[u8]| PackedEnsembles::open(bytes)?.unpack(|_| true);
        let whole = PACKED;
        let PackedEnsembles { ensembles, .. } = PackedEnsembles::open(whole).unwrap();
        // Where one ensemble ends and another begins, too.
        let ends = ensembles.iter().map(|(_, one)| one.as_ptr_range().end.addr() - whole.as_ptr().addr());
        let ends = ends.filter(|end| *end < whole.len());
        for end in (0..whole.len()).step_by(97).chain(ends) {
            assert!(unpacked(&whole[..end]).is_none(), "{end}");
        }
        assert!(unpacked(whole).is_some() && unpacked(&[whole, b"x"].concat()).is_none());
    }

    #[test]
    fn other_descriptors_are_parsed() {
        let loaded = crate::load(&[], &[("a.toml", "[ensemble]\nname = \"a\"\ndescription = \"d\"\n")]);
        let names: Vec<_> =
            loaded.descriptors.iter().flat_map(|one| &one.name).map(|name| &name.value).collect();
        assert_eq!(names, ["a"]);
        let read = without_places(load_texts(shipped()).descriptors);
        assert_eq!(crate::load(&[], shipped()).descriptors, read);
    }
}
