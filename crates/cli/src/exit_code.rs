//! The exit code of each kind of failure: `docs/reference/exit-codes.md`.

use converse_host::failure::Kind;

pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Closed => 0,
        Kind::Internal => 1,
        Kind::Usage => 2,
        Kind::Configuration => 3,
        Kind::ProviderRefused => 4,
        Kind::ProviderUnreachable => 5,
        Kind::ProviderNonsense => 6,
        Kind::Limit => 7,
        Kind::Unapproved => 8,
        Kind::Output => 9,
        Kind::Ensemble => 10,
        Kind::Signal(number) => 128 + number,
    }
}
