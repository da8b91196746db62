//! As much of an HTTP/1.1 request as two well-behaved clients need.

use std::io::{self, BufRead, Read as _};

const MAX_HEAD: u64 = 64 * 1024;
const MAX_BODY: u64 = 16 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The next request of a connection, `None` at its end.
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut head = reader.by_ref().take(MAX_HEAD);
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let path = line.split(' ').nth(1).ok_or_else(|| bad("no path"))?.to_owned();
        let mut length = 0;
        loop {
            line.clear();
            if head.read_line(&mut line)? == 0 {
                return Err(bad("the head has no end"));
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| bad("no length"))?;
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(bad("only bodies of known length are read"));
            }
        }
        let mut body = Vec::new();
        reader.take(length.min(MAX_BODY)).read_to_end(&mut body)?;
        if body.len() as u64 == length {
            Ok(Some(Self { path, body }))
        } else {
            Err(bad("the body has no end"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_one_after_another() {
        let mut bytes: &[u8] =
            b"POST /a/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n\r\n";
        let first = Request { path: "/a/v1".into(), body: b"abc".to_vec() };
        let second = Request { path: "/b".into(), body: vec![] };
        assert_eq!(Request::read(&mut bytes).unwrap(), Some(first));
        assert_eq!(Request::read(&mut bytes).unwrap(), Some(second));
        assert_eq!(Request::read(&mut bytes).unwrap(), None);
    }

    #[test]
    fn what_is_cut_or_unknown_is_an_error() {
        for bad in [
            "x\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: x\r\n",
            "POST /a HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            "POST /a HTTP/1.1\r\ncontent-length: 3\r\n\r\nab",
            "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert!(Request::read(&mut bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
