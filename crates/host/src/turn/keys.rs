//! Keys in the text of the user. The text is sent unchanged, with a warning, because a sent key cannot be taken back.

use crate::context::RunContext;
use crate::world::World;

/// Returns a warning if the words contain a known key. `is_kept`: in a session.
pub fn warning(words: &str, is_kept: bool, context: &RunContext, world: &World) -> Option<String> {
    let key = context.redactor.find_secret(words)?;
    let named = world.env.iter().find(|(_, value)| value.trim() == key.expose());
    let key = named.map_or("a key".to_owned(), |(name, _)| format!("the key in {name}"));
    let session = if is_kept { " and into the session" } else { "" };
    Some(format!("warning: that looks like {key}; it goes to the model{session}"))
}
