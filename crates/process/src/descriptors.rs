//! Recognises errors of a process that has no file descriptor left.

use std::error::Error;
use std::io;

use rustix::io::Errno;

/// What an error of [`lacks_descriptors()`] means.
pub const NO_DESCRIPTORS: &str = "converse has run out of file descriptors; `ulimit -n 1024` allows more";

/// Returns whether the error, or one of its causes, says that this process (EMFILE) or this machine (ENFILE) has no file
/// descriptor left.
pub fn lacks_descriptors(error: &(dyn Error + 'static)) -> bool {
    let is_lack = |error: &io::Error| {
        matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
            || error.get_ref().is_some_and(|inner| lacks_descriptors(inner))
    };
    error.downcast_ref::<io::Error>().is_some_and(is_lack) || error.source().is_some_and(lacks_descriptors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_lack_is_found_however_deep_it_is_wrapped() {
        let system = |number: Errno| io::Error::from(number);
        for (number, lacks) in [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::NOENT, false)] {
            assert_eq!(lacks_descriptors(&system(number)), lacks);
            assert_eq!(lacks_descriptors(&Outer(system(number))), lacks);
            assert_eq!(lacks_descriptors(&io::Error::other(Outer(system(number)))), lacks);
        }
        assert!(!lacks_descriptors(&io::Error::other("Too many open files")));
    }
}
