//! Link definitions (`[name]: address`), for the links that come after them. Links before them are shown as they are
//! written: they were given out already.

use std::collections::BTreeMap;
use std::sync::Arc;

use pulldown_cmark::Parser;

/// Definitions and bytes of each that are kept.
const MOST: usize = 256;
const LONGEST: usize = 2048;

/// By name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct References(Arc<BTreeMap<String, String>>);

impl References {
    pub(super) fn address(&self, name: &str) -> Option<String> {
        self.0.get(&folded(name)).cloned()
    }

    /// The first of a name stays.
    pub(super) fn learn(&mut self, found: &[(String, String)]) {
        for (name, address) in found {
            if self.0.len() < MOST && name.len() + address.len() <= LONGEST {
                let known = Arc::make_mut(&mut self.0);
                known.entry(folded(name)).or_insert_with(|| address.clone());
            }
        }
    }
}

/// Those that a text defines.
pub(super) fn defined<'a, F>(parser: &Parser<'a, F>) -> Vec<(String, String)>
where
    F: pulldown_cmark::BrokenLinkCallback<'a>,
{
    let found = parser.reference_definitions().iter();
    found.map(|(name, definition)| (name.to_owned(), definition.dest.to_string())).collect()
}

fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
