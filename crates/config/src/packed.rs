//! The shipped descriptors in parsed form, because parsing their TOML was most of the start-up time.
//!
//! `cargo xtask codegen` makes `shipped.packed` from `ensembles/`; a test compares both. If it is damaged, the TOML is
//! parsed. Only data of this crate is ever unpacked, never a user's file. Tests of tools are packed apart, because a run
//! that asks a question does not need them.

mod descriptors;
mod values;

use crate::diagnostic::Diagnostic;
use crate::ensemble::{EnsembleDescriptor, InvokerEntry};
use crate::load::{LoadedFiles, load_texts};
use crate::plan::Scope;
use crate::shipped::shipped;
use crate::source::SourceMap;
use crate::tool_test::TestDescriptor;

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
    ensembles: Vec<PackedEnsemble<'b>>,
}

struct PackedEnsemble<'b> {
    name: String,
    /// The descriptor without tests.
    descriptor: &'b [u8],
    /// A [`TestsOfInvoker`] for each invoker.
    tests: &'b [u8],
}

/// The tests beside `source`, and those of the invoker itself.
type TestsOfInvoker = (Vec<TestDescriptor>, Vec<TestDescriptor>);

/// Whether tests of tools are unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    Unpacked,
    LeftOut,
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
            let name = String::unpack(&mut bytes)?;
            ensembles.push(PackedEnsemble { name, descriptor: part(&mut bytes)?, tests: part(&mut bytes)? });
        }
        bytes.is_empty().then_some(Self { sources, ensembles })
    }

    /// Returns the ensembles of these names as if parsed, except for positions inside schemas. `None` if one is damaged.
    pub(crate) fn unpack(
        &self,
        is_used: impl Fn(&str) -> bool,
        tests: Tests,
    ) -> Option<Vec<EnsembleDescriptor>> {
        let used = self.ensembles.iter().filter(|packed| is_used(&packed.name));
        used.map(|packed| {
            let mut descriptor: EnsembleDescriptor = whole(packed.descriptor)?;
            if tests == Tests::Unpacked {
                let tests: Vec<TestsOfInvoker> = whole(packed.tests)?;
                put_tests(&mut descriptor.invokers, tests)?;
            }
            Some(descriptor)
        })
        .collect()
    }
}

/// Returns bytes with their length before them.
fn part<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::unpack(from)?;
    let (part, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(part)
}

/// Unpacks a value that takes all bytes.
fn whole<T: Packed>(mut bytes: &[u8]) -> Option<T> {
    T::unpack(&mut bytes).filter(|_| bytes.is_empty())
}

fn take_tests(entry: &mut InvokerEntry) -> TestsOfInvoker {
    let own = entry.invoker.as_mut().map(|invoker| std::mem::take(&mut invoker.tests));
    (std::mem::take(&mut entry.tests), own.unwrap_or_default())
}

fn put_tests(entries: &mut [InvokerEntry], tests: Vec<TestsOfInvoker>) -> Option<()> {
    if entries.len() != tests.len() {
        return None;
    }
    for (entry, (beside, own)) in entries.iter_mut().zip(tests) {
        entry.tests = beside;
        entry.invoker.as_mut()?.tests = own;
    }
    Some(())
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
    for mut descriptor in descriptors {
        let tests: Vec<TestsOfInvoker> = descriptor.invokers.iter_mut().map(take_tests).collect();
        descriptor.name.as_ref()?.value.pack(&mut bytes)?;
        let (mut packed, mut packed_tests) = (Vec::new(), Vec::new());
        descriptor.pack(&mut packed)?;
        tests.pack(&mut packed_tests)?;
        for part in [packed, packed_tests] {
            part.len().pack(&mut bytes)?;
            bytes.extend(part);
        }
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
        let mut descriptors = without_places(read.descriptors);
        assert_eq!(found.unpack(|_| true, Tests::Unpacked).as_ref(), Some(&descriptors), "{hint}");
        let entries = descriptors.iter_mut().flat_map(|ensemble| &mut ensemble.invokers);
        let tests: usize = entries.map(|entry| take_tests(entry).1.len()).sum();
        assert!(tests > 40, "{tests}");
        assert_eq!(found.unpack(|_| true, Tests::LeftOut), Some(descriptors));
        assert_eq!(texts(&found.sources), texts(&read.sources));
    }

    /// Two ensembles meet if they have the same name, or tools with the same prefix.
    #[test]
    fn only_ensembles_that_are_used_are_unpacked() {
        let names = |named: Option<&[String]>, dir: &crate::Root| -> Vec<String> {
            let loaded = crate::load_for_question(std::slice::from_ref(dir), shipped(), named);
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
        assert_eq!(names(None, &root), ["code", "essentials", "git", "io", "shell", "web", "x"]);
        write("name = \"x\"\nprefix = \"io\"");
        assert_eq!(names(Some(&[]), &root), ["io", "x"]);
        write("name = \"io\"");
        assert_eq!(names(Some(&[]), &root), ["io", "io"]);
        assert_eq!(names(Some(&[io]), &root), ["io", "io"]);
        std::fs::remove_dir_all(dir).unwrap();
        assert!(
            open().unwrap().unpack(|_| true, Tests::LeftOut).unwrap().iter().all(|one| one.prefix.is_none())
        );
    }

    #[test]
    fn damaged_data_is_refused() {
        let unpacked = |bytes: &[u8]| PackedEnsembles::open(bytes)?.unpack(|_| true, Tests::Unpacked);
        let whole = PACKED;
        let PackedEnsembles { ensembles, .. } = PackedEnsembles::open(whole).unwrap();
        // Where one ensemble ends and another begins, too.
        let parts = ensembles.iter().flat_map(|one| [one.descriptor, one.tests]);
        let ends = parts.map(|one| one.as_ptr_range().end.addr() - whole.as_ptr().addr());
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
