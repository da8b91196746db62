//! Appends complete lines or nothing.
//!
//! A full disk accepts a part of a line. That part is cut off at once, or else before the next line is written, so two
//! lines never run together. After a failed sync the content of the disk is not known (the kernel may drop the pages and
//! report success the next time), so nothing more is accepted.

use std::io;

use crate::storage::Appendable;

#[derive(Debug)]
pub(crate) struct Lines<S> {
    storage: S,
    /// Bytes of complete lines.
    length: u64,
    /// The file may contain more than complete lines.
    ragged: bool,
    /// Something was written since the last sync, perhaps by whoever wrote the file before.
    written: bool,
    unsynced: bool,
}

#[derive(Debug)]
pub(crate) enum LinesError {
    Io(io::Error),
    /// A sync failed earlier.
    Unsynced,
}

impl From<io::Error> for LinesError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<S: Appendable> Lines<S> {
    /// `length` is the bytes of complete lines; what follows them is cut off.
    pub(crate) fn new(storage: S, length: u64, ragged: bool) -> Self {
        Self { storage, length, ragged, written: true, unsynced: false }
    }

    /// Appends a line, which includes its newline.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<(), LinesError> {
        if self.unsynced {
            return Err(LinesError::Unsynced);
        }
        self.trim()?;
        (self.ragged, self.written) = (true, true);
        if let Err(error) = self.write_all(line) {
            // The first error is the one to report. If trimming fails, the next append tries again.
            let _ = self.trim();
            return Err(error.into());
        }
        self.ragged = false;
        self.length += line.len() as u64;
        Ok(())
    }

    pub(crate) fn storage(&self) -> &S {
        &self.storage
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Sets the end of complete lines after another process appended, and whether more follows.
    pub(crate) fn stand_at(&mut self, length: u64, ragged: bool) {
        (self.length, self.ragged, self.written) = (length, ragged, true);
    }

    /// Makes the lines durable. Does nothing if they are.
    pub(crate) fn sync(&mut self) -> Result<(), LinesError> {
        if self.unsynced {
            return Err(LinesError::Unsynced);
        }
        if self.written {
            self.storage.sync().inspect_err(|_| self.unsynced = true)?;
            self.written = false;
        }
        Ok(())
    }

    pub(crate) fn is_synced(&self) -> bool {
        !self.written
    }

    #[cfg(test)]
    pub(crate) fn into_storage(self) -> S {
        self.storage
    }

    /// Cuts off an incomplete line.
    fn trim(&mut self) -> io::Result<()> {
        if self.ragged {
            self.storage.truncate(self.length)?;
            self.ragged = false;
        }
        Ok(())
    }

    /// Writes in one call, unless the system accepts less.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.storage.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => bytes = bytes.get(taken..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{Interrupted, Other, StorageFull};

    use super::*;

    /// A disk with room for `room` bytes that takes at most `bite` of them at once.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        bite: usize,
        writes: usize,
        syncs: usize,
        stuck: bool,
        interrupted: bool,
        dying: bool,
    }

    impl Disk {
        fn new(room: usize) -> Self {
            Self {
                bytes: vec![],
                room,
                bite: 1000,
                writes: 0,
                syncs: 0,
                stuck: false,
                interrupted: false,
                dying: false,
            }
        }
    }

    impl Appendable for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if std::mem::take(&mut self.interrupted) {
                return Err(Interrupted.into());
            }
            let taken = bytes.len().min(self.bite).min(self.room - self.bytes.len());
            if taken == 0 {
                return Err(StorageFull.into());
            }
            self.bytes.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            if self.stuck {
                return Err(Other.into());
            }
            self.bytes.truncate(length as usize);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            self.syncs += 1;
            if self.dying { Err(Other.into()) } else { Ok(()) }
        }
    }

    fn kind(error: LinesError) -> Option<io::ErrorKind> {
        match error {
            LinesError::Io(error) => Some(error.kind()),
            LinesError::Unsynced => None,
        }
    }

    #[test]
    fn a_line_is_one_write() {
        let mut lines = Lines::new(Disk::new(100), 0, false);
        lines.append(b"one\n").unwrap();
        lines.append(b"two\n").unwrap();
        assert_eq!((lines.storage.bytes.as_slice(), lines.storage.writes), (b"one\ntwo\n".as_slice(), 2));
    }

    #[test]
    fn small_bites_and_interruptions_are_no_errors() {
        let mut lines = Lines::new(Disk { bite: 3, interrupted: true, ..Disk::new(100) }, 0, false);
        lines.append(b"a long line\n").unwrap();
        assert_eq!(lines.storage.bytes, b"a long line\n");
    }

    #[test]
    fn at_every_fill_level_only_whole_lines_stay_and_room_makes_it_work_again() {
        for room in 0..12 {
            let mut lines = Lines::new(Disk::new(room), 0, false);
            let first = lines.append(b"first\n");
            let second = lines.append(b"other\n");
            assert_eq!((first.is_ok(), second.is_ok()), (room >= 6, false), "{room}");
            assert_eq!(second.map_err(kind), Err(Some(StorageFull)));
            assert_eq!(lines.storage.bytes, if room >= 6 { b"first\n".as_slice() } else { b"" });
            lines.storage.room = 100;
            lines.append(b"later\n").unwrap();
            assert!(lines.storage.bytes.ends_with(b"later\n"));
            assert_eq!(lines.storage.bytes.len() % 6, 0);
        }
    }

    #[test]
    fn what_could_not_be_cut_off_is_cut_off_before_the_next_line() {
        let mut lines = Lines::new(Disk { stuck: true, ..Disk::new(8) }, 0, false);
        lines.append(b"first\n").unwrap();
        lines.append(b"other\n").unwrap_err();
        assert_eq!(lines.storage.bytes, b"first\not");
        lines.storage.room = 100;
        assert_eq!(lines.append(b"later\n").map_err(kind), Err(Some(Other)));
        lines.storage.stuck = false;
        lines.append(b"later\n").unwrap();
        assert_eq!(lines.storage.bytes, b"first\nlater\n");
    }

    #[test]
    fn what_is_on_disk_is_not_synced_again() {
        let mut lines = Lines::new(Disk::new(100), 0, false);
        // Whoever wrote the file before may not have synced it.
        for (line, syncs) in [(None, 1), (None, 1), (Some(b"one\n"), 2), (None, 2)] {
            line.into_iter().for_each(|line| lines.append(line).unwrap());
            assert_eq!(lines.is_synced(), syncs == lines.storage.syncs);
            lines.sync().unwrap();
            assert_eq!(lines.storage.syncs, syncs);
        }
    }

    #[test]
    fn after_a_failed_sync_nothing_is_accepted() {
        let mut lines = Lines::new(Disk { dying: true, ..Disk::new(100) }, 0, false);
        lines.append(b"first\n").unwrap();
        assert_eq!(lines.sync().map_err(kind), Err(Some(Other)));
        lines.storage.dying = false;
        assert_eq!(lines.sync().map_err(kind), Err(None));
        assert_eq!(lines.append(b"x\n").map_err(kind), Err(None));
        assert_eq!(lines.storage.bytes, b"first\n");
    }
}
