//! The conversation that the turn belongs to: a new one, the last one, a named one; kept or not.

use converse_canister::{Canister, Supervisor, Transcript, User};
use converse_session::{Session, Store, new_id};

use crate::args::Ask;
use crate::failure::Failure;
use crate::manners::Manners;
use crate::settings::Settings;
use crate::world::World;

/// The conversation so far, and where it is kept, if it is.
pub(super) struct Keeping {
    pub(super) transcript: Transcript,
    pub(super) session: Option<Session>,
}

pub(super) struct Sessions<'a> {
    pub(super) args: &'a Ask,
    pub(super) manners: &'a Manners,
    pub(super) world: &'a World,
}

impl Sessions<'_> {
    /// The session that `-c` or `--session` names, open and repaired.
    pub(super) fn continued(&self) -> Result<Option<Session>, Failure> {
        if !self.args.continue_last && self.args.session.is_none() {
            return Ok(None);
        }
        let none = || Failure::usage("no-such-session", "without a home there are no sessions");
        let store = self.store().ok_or_else(none)?;
        let id = match &self.args.session {
            Some(text) => store.resolve(text)?,
            None => store.latest()?,
        };
        let session = store.open(id, World::now())?;
        let repairs = session.loaded.repairs.iter();
        self.manners.warn_all(repairs.map(|repair| format!("warning: session {id}: {repair}")));
        Ok(Some(session))
    }

    /// A new session, or none: a run that cannot be kept is still answered, and says so.
    pub(super) fn keep(&self, settings: &Settings, continued: Option<Session>) -> Keeping {
        if let Some(mut session) = continued {
            let transcript = std::mem::take(&mut session.loaded.transcript);
            return Keeping { transcript, session: Some(session) };
        }
        let session = if settings.ephemeral { None } else { self.create() };
        Keeping { transcript: Transcript::new(), session }
    }

    fn store(&self) -> Option<Store> {
        self.world.data_dir().map(|dir| Store::new(dir.join("sessions")))
    }

    fn create(&self) -> Option<Session> {
        let Some(store) = self.store() else {
            self.manners.warn("warning: no home directory: this session is not kept");
            return None;
        };
        let now = World::now();
        let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
        let created = store.create(new_id(now, &World::random_bytes()), program, now);
        let warn = |error: &_| self.manners.warn(&format!("warning: this session is not kept: {error}"));
        created.inspect_err(warn).ok()
    }
}

/// The system text, if it is new to the conversation, and the user's words.
pub(super) fn opening(transcript: &Transcript, system: Option<&str>, prompt: String) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let new = system.filter(|text| Some(*text) != last);
    let supervisor = new.map(|text| Canister::Supervisor(Supervisor { text: text.to_owned() }));
    supervisor.into_iter().chain([Canister::User(User::text(prompt))]).collect()
}
