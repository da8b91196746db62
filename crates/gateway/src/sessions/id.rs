//! Ids of sessions: 64 bits that mark the process, and 128 random bits.

use rmcp::transport::streamable_http_server::session::SessionId;

const MARK: usize = 16;
const REST: usize = 32;

/// What all ids of one process begin with.
#[derive(Debug)]
pub(super) struct Mark(String);

/// The process that made an id.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Maker {
    This,
    Other,
}

impl Mark {
    pub(super) fn random() -> Option<Self> {
        random::<{ MARK / 2 }>().map(Self)
    }

    /// Returns an id that nobody can guess; `None` if there are no random bytes.
    pub(super) fn session_id(&self) -> Option<SessionId> {
        Some(format!("{}-{}", self.0, random::<{ REST / 2 }>()?).into())
    }

    /// Returns which process made this id; `None` if it is no id of a gateway.
    pub(super) fn maker_of(&self, id: &str) -> Option<Maker> {
        let (mark, rest) = id.split_once('-')?;
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_id = mark.len() == MARK && rest.len() == REST && is_hex(mark) && is_hex(rest);
        is_id.then(|| if mark == self.0 { Maker::This } else { Maker::Other })
    }
}

/// Returns so many random bytes, as hexadecimal digits.
fn random<const BYTES: usize>() -> Option<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_which_process_made_it_and_nothing_else_is_an_id() {
        let (here, there) = (Mark::random().unwrap(), Mark::random().unwrap());
        let id = here.session_id().unwrap();
        assert_ne!(id, here.session_id().unwrap());
        assert_eq!((here.maker_of(&id), there.maker_of(&id)), (Some(Maker::This), Some(Maker::Other)));
        let changed = [&id[1..], &format!("{id}0"), &id.replace('-', "0"), &format!("G{}", &id[1..])];
        for id in ["", "-", "x"].into_iter().chain(changed) {
            assert_eq!(here.maker_of(id), None, "{id}");
        }
    }
}
