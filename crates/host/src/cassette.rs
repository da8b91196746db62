//! What a model and tools said in a run, on file, to be said again.
//!
//! A cassette is a text: a [`Header`], then one [`Entry`] a line. A [`Recorder`] writes one, a [`Cassette`] is one that
//! was read, a [`Player`] answers from it: the nth equal question gets the answer of the nth that was asked, and a
//! question that was never recorded is a [`Miss`], after which nothing is answered any more.
//!
//! Recorder and player know no sockets, no servers and no environment; [`mode`] puts them between the engine and the world.

mod body;
mod entry;
mod error;
mod file;
mod given;
mod miss;
pub mod mode;
mod player;
mod question;
mod recorder;
mod rejoined;
mod shown;
#[cfg(test)]
mod tests;

pub use body::Kept;
pub use entry::{
    Blob, Broken, Call, Entry, Exchange, Header, Offer, Offered, Reply, Request, Response, Tool,
};
pub use error::CassetteError;
pub use file::Cassette;
pub use given::Given;
pub use miss::Miss;
pub use player::Player;
pub use question::Question;
pub use recorder::{Recorder, Redact};

/// The format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;
/// A cassette is no larger; neither is it read when it is.
pub const MAX_BYTES: u64 = 256 * 1024 * 1024;
