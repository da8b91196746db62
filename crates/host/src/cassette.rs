//! What a model and tools said in a run, on file, to be said again.
//!
//! A cassette is a text: a [header](entry::Header), then one [`Entry`] a line. A [`Recorder`] writes one, a [`Cassette`] is one that
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
pub(crate) mod mode;
mod player;
mod question;
mod recorder;
mod rejoined;
mod shown;
#[cfg(test)]
mod tests;

pub(crate) use body::Kept;
pub(crate) use entry::{Blob, Broken, Call, Entry, Exchange, Offer, Offered, Reply, Response, Tool};
pub(crate) use error::CassetteError;
pub(crate) use file::Cassette;
pub(crate) use given::Given;
pub(crate) use miss::Miss;
pub(crate) use player::Player;
pub(crate) use question::Question;
pub(crate) use recorder::{Recorder, Redact};

/// The format that is written, and the newest that is read.
pub(crate) const FORMAT: u32 = 1;
/// A cassette is no larger; neither is it read when it is.
pub(crate) const MAX_BYTES: u64 = 256 * 1024 * 1024;
