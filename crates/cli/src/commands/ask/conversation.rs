//! The conversation that the turn belongs to: a new one, the last one, a named one; kept or not.

use converse_session::{Metadata, Session, Uuid, new_id};
use jiff::{SignedDuration, Timestamp};

use super::Candidate;
use converse_host::History;
use converse_host::failure::Failure;
use converse_host::options::TurnOptions;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::console::Console;

pub(super) struct Sessions<'a> {
    pub(super) args: &'a TurnOptions,
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
}

/// The prefix of the id of a comparison in the tag of its sessions.
const COMPARED: &str = "compare:";
/// The same of one that goes on alone since.
const ALONE: &str = "compared:";

/// The sessions that a run continues.
pub(super) enum Named {
    None,
    One(Uuid),
    /// Those of a comparison.
    Several(Group),
}

/// What there is of a comparison; one session may be all that is left of it.
pub(super) struct Group {
    /// Each with its model, in the order in which they were begun.
    pub(super) members: Vec<(Uuid, String)>,
    /// Models whose sessions are gone.
    pub(super) missing: Vec<String>,
}

impl Sessions<'_> {
    /// What `-c` or `--session` names. The last one is all of a comparison, if it was one.
    pub(super) fn named(&self) -> Result<Named, Failure> {
        let Some(last) = sessions::continued(self.args, self.world)? else { return Ok(Named::None) };
        if self.args.session.is_some() {
            return Ok(Named::One(last));
        }
        let store = sessions::required(self.world)?;
        let Metadata { tags, compared, .. } = store.metadata(last)?;
        let Some(id) = tags.iter().find_map(|tag| tag.strip_prefix(COMPARED)) else {
            return Ok(Named::One(last));
        };
        let with_models = |tag: String| -> Result<Vec<(Uuid, String)>, Failure> {
            let mut found = Vec::new();
            for id in store.tagged(&tag)? {
                found.extend(store.metadata(id)?.model.map(|model| (id, model)));
            }
            Ok(found)
        };
        let members = with_models(format!("{COMPARED}{id}"))?;
        if members.is_empty() {
            return Ok(Named::One(last));
        }
        // Those that go on alone since are not missed.
        let alone = with_models(format!("{ALONE}{id}"))?;
        let is_there = |model: &String| members.iter().chain(&alone).any(|(_, known)| known == model);
        let missing = compared.into_iter().filter(|model| !is_there(model)).collect();
        Ok(Named::Several(Group { members, missing }))
    }

    /// Returns whether the user chose one session, and not the rest of several.
    fn is_chosen(&self) -> bool {
        self.args.session.is_some() || !self.args.model.is_empty()
    }

    /// The session, open and repaired.
    pub(super) fn open(&self, id: Uuid) -> Result<Session, Failure> {
        sessions::open(id, &self.console.context, self.world).map_err(Failure::or_anew)
    }

    /// Where each candidate's conversation is kept: new sessions, of one tag if they are compared, or none: a run that
    /// cannot be kept is still answered, and says so.
    pub(super) fn keep(&self, candidates: &mut [Candidate]) -> Vec<History> {
        let several = candidates.len() > 1;
        let now = World::now();
        let together = several.then(|| Together {
            tag: format!("{COMPARED}{}", new_id(now, &World::random_bytes())),
            models: candidates.iter().map(|candidate| candidate.settings.model.id.clone()).collect(),
        });
        let leaves = !several && self.is_chosen();
        let mut wanted = true;
        let mut keep = |(place, candidate): (usize, &mut Candidate)| {
            let session = match candidate.continued.take() {
                Some(session) => Some(goes_on(session, leaves)),
                None if wanted && !candidate.settings.ephemeral => {
                    // Ids sort by their time: the order of the candidates is theirs.
                    let now = now + SignedDuration::from_millis(place as i64);
                    let session = self.create(now, together.as_ref());
                    wanted = session.is_some();
                    session
                }
                None => None,
            };
            candidate.session = session.as_ref().map(|session| session.id.to_string());
            let (audits, context) = (candidate.settings.audit, &self.console.context);
            match session {
                Some(session) => History::of(session, audits, context, self.world),
                None => History::new(audits, context, self.world),
            }
        };
        candidates.iter_mut().enumerate().map(&mut keep).collect()
    }

    fn create(&self, now: Timestamp, together: Option<&Together>) -> Option<Session> {
        let mut session = sessions::create(now, &self.console.context, self.world)?;
        if let Some(Together { tag, models }) = together {
            session.metadata.tags.push(tag.clone());
            session.metadata.compared.clone_from(models);
        }
        Some(session)
    }
}

/// What the sessions of a new comparison have in common.
struct Together {
    tag: String,
    models: Vec<String>,
}

/// Continues a session. A session of a comparison that continues alone loses the tag, so that the next `-c` means only
/// this session.
fn goes_on(mut session: Session, leaves: bool) -> Session {
    let mut left = false;
    for tag in session.metadata.tags.iter_mut().filter(|_| leaves) {
        if let Some(id) = tag.strip_prefix(COMPARED) {
            *tag = format!("{ALONE}{id}");
            left = true;
        }
    }
    if left && let Err(error) = session.save_metadata() {
        tracing::warn!(%error, "the session's metadata was not saved");
    }
    session
}
