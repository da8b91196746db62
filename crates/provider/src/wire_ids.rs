//! Ids of invocations on a wire.
//!
//! A server gets its own ids back unchanged and no ids of other servers, because those are refused for their characters
//! (Anthropic `^[a-zA-Z0-9_-]+$`, Mistral exactly nine alphanumerics). Otherwise our own id is used, which all servers
//! accept except Mistral, for which it is hashed. The first use of an id wins, so that the prefix of a request does not
//! change when a server reuses an id for a later invocation.

use std::collections::HashSet;

use converse_canister::{Invocation, Maker};

use crate::Endpoint;

/// Generator of the ids of one request, in the order of its invocations.
pub(crate) struct WireIds<'a> {
    endpoint: &'a Endpoint,
    used: HashSet<String>,
}

impl<'a> WireIds<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint) -> Self {
        Self::after(endpoint, HashSet::new())
    }

    /// Continues after the ids of earlier invocations of the same request.
    pub(crate) fn after(endpoint: &'a Endpoint, used: HashSet<String>) -> Self {
        Self { endpoint, used }
    }

    pub(crate) fn into_used(self) -> HashSet<String> {
        self.used
    }

    /// Returns the id for an invocation of a turn that `maker` made.
    pub(crate) fn assign(&mut self, invocation: &Invocation, maker: Option<&Maker>) -> String {
        let welcome = maker.is_some_and(|maker| {
            maker.provider == self.endpoint.provider && maker.dialect == self.endpoint.dialect.label()
        });
        let own =
            invocation.wire_id.as_deref().filter(|id| welcome && self.fits(id) && !self.used.contains(*id));
        let id = own.map_or_else(|| self.synthesised(invocation.id.as_str()), str::to_owned);
        self.used.insert(id.clone());
        id
    }

    fn fits(&self, id: &str) -> bool {
        !id.is_empty() && (!self.endpoint.quirks.nine_char_ids || is_nine_alphanumerics(id))
    }

    /// Returns our id, or a variant if that is in use (a server may have chosen the same) or too long for the server.
    fn synthesised(&self, id: &str) -> String {
        let nine = self.endpoint.quirks.nine_char_ids;
        (0u32..)
            .map(|attempt| match (nine, attempt) {
                (true, _) => nine_alphanumerics(id, attempt),
                (false, 0) => id.to_owned(),
                // At most 64 characters, whatever ours has.
                (false, _) => format!("{}_{attempt}", id.get(..52).unwrap_or(id)),
            })
            .find(|id| !self.used.contains(id))
            .unwrap_or_default()
    }
}

fn is_nine_alphanumerics(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// FNV-1a, because std's hasher may differ between builds and a prefix must not.
fn nine_alphanumerics(id: &str, attempt: u32) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let bytes = id.bytes().chain(attempt.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..9)
        .map(|_| {
            let digit = DIGITS.get((hash % 62) as usize).copied().unwrap_or(b'0');
            hash /= 62;
            char::from(digit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, InvocationId, TurnId};

    use super::*;
    use crate::rows::row;

    fn invocation(index: usize, wire_id: Option<&str>) -> Invocation {
        let turn = TurnId(1);
        Invocation {
            turn,
            id: InvocationId::of(turn, index),
            wire_id: wire_id.map(str::to_owned),
            tool: "t".into(),
            arguments: Arguments::parse(""),
            seal: None,
        }
    }

    fn endpoint(provider: &str) -> Endpoint {
        row(provider).unwrap().endpoint(None)
    }

    #[test]
    fn a_server_gets_its_own_ids_back_and_nobody_elses() {
        let (groq, xai) = (endpoint("groq"), endpoint("xai"));
        let maker = groq.maker("m");
        let call = invocation(0, Some("call:é/1"));
        assert_eq!(WireIds::new(&groq).assign(&call, Some(&maker)), "call:é/1");
        assert_eq!(WireIds::new(&xai).assign(&call, Some(&maker)), "inv_1_0");
        assert_eq!(WireIds::new(&groq).assign(&call, None), "inv_1_0");
        assert_eq!(WireIds::new(&groq).assign(&invocation(3, None), Some(&maker)), "inv_1_3");
        assert_eq!(WireIds::new(&groq).assign(&invocation(3, Some("")), Some(&maker)), "inv_1_3");
    }

    #[test]
    fn the_first_use_of_an_id_wins() {
        let groq = endpoint("groq");
        let maker = groq.maker("m");
        let mut ids = WireIds::new(&groq);
        let mut assign = |index, wire_id| ids.assign(&invocation(index, wire_id), Some(&maker));
        assert_eq!(assign(0, Some("a")), "a");
        assert_eq!(assign(1, Some("a")), "inv_1_1");
        assert_eq!(assign(2, Some("inv_1_3")), "inv_1_3");
        assert_eq!(assign(3, None), "inv_1_3_1");
    }

    #[test]
    fn mistral_gets_nine_alphanumerics_always_the_same() {
        let mistral = endpoint("mistral");
        let maker = mistral.maker("m");
        let mut ids = WireIds::new(&mistral);
        assert_eq!(ids.assign(&invocation(0, Some("abc123XYZ")), Some(&maker)), "abc123XYZ");
        let all: HashSet<String> =
            (1..500).map(|i| ids.assign(&invocation(i, Some("call_1")), Some(&maker))).collect();
        assert_eq!(all.len(), 499);
        assert!(all.iter().all(|id| is_nine_alphanumerics(id)));
        assert_eq!(nine_alphanumerics("inv_1_1", 0), nine_alphanumerics("inv_1_1", 0));
        assert_ne!(nine_alphanumerics("inv_1_1", 0), nine_alphanumerics("inv_1_1", 1));
    }
}
