//! Standard input and output that wait even if the descriptor is non-blocking.
//!
//! Another process with the same pipe or terminal may have set it to non-blocking: node and ssh do so, and the flag is
//! shared by all processes. It is not changed here. If the system reports "would block", this module polls, which takes
//! as long as reading or writing would.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Writes without a buffer, and without the standard library's own notion that what cannot be written at all has been.
#[derive(Debug)]
pub struct PollIo<F>(pub F);

impl<F: AsFd + Read> Read for PollIo<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&self.0, PollFlags::IN)?,
                read => return read,
            }
        }
    }
}

impl<F: AsFd> Write for PollIo<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => wait(&self.0, PollFlags::OUT)?,
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Until it is ready, or has ended: the next try says which.
fn wait(file: &impl AsFd, flags: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(file, flags)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// More than what a socket holds.
    const MUCH: usize = 4 * 1024 * 1024;

    #[test]
    fn what_does_not_block_is_waited_for() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let (sender, full) = std::sync::mpsc::channel();
        let writer = std::thread::spawn(move || {
            // Until it takes no more there is nobody who reads.
            let mut written = 0;
            while let Ok(count) = rustix::io::write(&ours, &[7; 4096]) {
                written += count;
            }
            sender.send(()).unwrap();
            PollIo(&ours).write_all(&vec![7; MUCH - written]).unwrap();
            ours
        });
        full.recv().unwrap();
        let mut read = vec![0; MUCH];
        theirs.read_exact(&mut read).unwrap();
        let ours = writer.join().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            PollIo(&ours).read_to_string(&mut text).map(|_| text)
        });
        theirs.write_all(b"late").unwrap();
        drop(theirs);
        assert_eq!(reader.join().unwrap().unwrap(), "late");
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(PollIo(file).write_all(b"x").is_err(), "it was opened for reading");
    }
}
