//! Where a conversation is kept: the sessions of this user, opened and begun.

use converse_canister::{Canister, Invocation};
use converse_session::{Clean, Repair, Session, SessionError, Store, Uuid, label_name, new_id};
use jiff::Timestamp;

use crate::context::RunContext;
use crate::failure::Failure;
use crate::options::TurnOptions;
use crate::world::World;
use converse_text::safe_line;
use converse_text::wording::tool_name;

/// Maximum characters of a reported repair.
const REPAIR: usize = 400;

/// The sessions in the user's database, else in files; `None` without either, for want of a home.
pub fn store(world: &World) -> Option<Store> {
    if let Some(database) = &world.database {
        return Some(Store::on(database.clone()));
    }
    world.data_dir().map(|dir| Store::new(dir.join("sessions")))
}

/// The same, for who writes: no name, and no first words, with a secret in them are kept beside the journal.
pub fn cleaned(store: Store, context: &RunContext) -> Store {
    let redactor = context.redactor.clone();
    store.cleaned(Clean::new(move |text| redactor.clean(text)))
}

/// Returns the store, for commands that need it.
pub fn required(world: &World) -> Result<Store, Failure> {
    let none = || Failure::usage("no-such-session", "there is no home directory, so there are no sessions");
    store(world).ok_or_else(none)
}

/// Opens the session and repairs it; repairs are reported.
pub fn open(id: Uuid, context: &RunContext, world: &World) -> Result<Session, Failure> {
    opened(cleaned(required(world)?, context).open(id, World::now()), context)
}

/// The same, with the invocations open that wait for a decision.
pub fn resume(id: Uuid, context: &RunContext, world: &World) -> Result<Session, Failure> {
    opened(cleaned(required(world)?, context).resume(id, World::now()), context)
}

/// Opens the session for a turn that goes on where another process was lost; see [`Store::take_up`]. `None` if there is no
/// such session.
pub fn take_up(
    id: Uuid,
    may_repeat: &dyn Fn(&Invocation) -> bool,
    context: &RunContext,
    world: &World,
) -> Result<Option<Session>, Failure> {
    match cleaned(required(world)?, context).take_up(id, World::now(), may_repeat) {
        Err(SessionError::NotFound(_)) => Ok(None),
        session => opened(session, context).map(Some),
    }
}

fn opened(session: Result<Session, SessionError>, context: &RunContext) -> Result<Session, Failure> {
    let session = session.map_err(Failure::of_session)?;
    let id = session.id;
    let canisters = session.loaded.transcript.as_slice();
    let repairs = session.loaded.repairs.iter().map(|repair| repair_text(repair, canisters));
    context.warn_all(repairs.map(|repair| format!("warning: session {id}: {}", safe_line(&repair, REPAIR))));
    Ok(session)
}

/// Describes a repair; a call also by the name of its tool, because users do not know its number.
fn repair_text(repair: &Repair, canisters: &[Canister]) -> String {
    let (Repair::Interrupted { id } | Repair::NotStarted { id }) = repair else { return repair.to_string() };
    let tool = canisters.iter().rev().find_map(|one| match one {
        Canister::Invocation(invocation) if invocation.id == *id => Some(invocation.tool.as_str()),
        _ => None,
    });
    match tool {
        Some(tool) => format!("`{}`, {repair}", tool_name(tool)),
        None => repair.to_string(),
    }
}

/// Creates the session with this id.
pub fn begin(id: Uuid, now: Timestamp, context: &RunContext, world: &World) -> Result<Session, Failure> {
    let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
    let created = cleaned(required(world)?, context).create(id, program, now);
    let mut session = created.map(Session::fleeting).map_err(Failure::of_session)?;
    session.metadata.project = project(world);
    Ok(session)
}

/// Returns the project of sessions that begin here, as their metadata name it.
pub fn project(world: &World) -> Option<String> {
    world.project_root().map(|directory| directory.display().to_string())
}

/// Returns the session that `-c` or `--session` names; `None` without either.
pub fn continued(options: &TurnOptions, world: &World) -> Result<Option<Uuid>, Failure> {
    let found = match &options.session {
        Some(text) => required(world)?.resolve(text),
        None if !options.continue_last => return Ok(None),
        None if options.of_all_projects => required(world)?.latest(),
        None => required(world)?.latest_of(project(world).as_deref()),
    };
    Ok(found.map(Some)?)
}

/// Creates a session. If that is not possible, the conversation continues without one, and the user is warned.
pub fn create(now: Timestamp, context: &RunContext, world: &World) -> Option<Session> {
    if store(world).is_none() {
        context.warn("warning: no home directory: this session is not saved");
        return None;
    }
    let created = begin(new_id(now, &World::random_bytes()), now, context, world);
    let warn =
        |failure: &Failure| context.warn(&format!("warning: this session is not saved: {}", failure.message));
    created.inspect_err(warn).ok()
}

/// Checks the name of a session, see [`converse_session::label_name`].
pub fn name(given: &str) -> Result<Option<String>, Failure> {
    label_name(given).map_err(|why| Failure::usage("bad-name", why))
}

/// Returns the note about a model that only an imported document names: it is not used by itself.
pub fn imported_model_note(model: &str) -> String {
    let model = converse_text::safe_line(model, 200);
    format!("the imported session names the model `{model}`, which is used only if you name it: `-m {model}`")
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Invocation, InvocationId, TurnId};

    use super::*;

    #[test]
    fn a_call_is_named_by_its_tool() {
        let id = InvocationId::of(TurnId(7), 0);
        let call = Canister::Invocation(Invocation {
            turn: TurnId(7),
            id: id.clone(),
            wire_id: None,
            tool: "io__write_file".into(),
            arguments: Arguments::parse("{}"),
            seal: None,
        });
        let repair = Repair::NotStarted { id };
        assert_eq!(repair_text(&repair, &[call]), "`io.write_file`, `inv_7_0` was never run");
        assert_eq!(repair_text(&repair, &[]), "`inv_7_0` was never run");
    }
}
