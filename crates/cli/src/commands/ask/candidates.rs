//! The models to ask, and the session that continues with each.

use converse_config::SettingsPlan;
use converse_session::{Session, Uuid};

use super::conversation::{Group, Named};
use super::{Candidate, Run};
use converse_host::failure::Failure;
use converse_host::settings::Settings;
use converse_host::turn::sessions::imported_model_note;

/// Models that can be compared.
const MOST: usize = 8;

impl Run<'_> {
    /// One, or several that are compared: each once.
    pub(super) fn candidates(&self, files: &SettingsPlan) -> Result<Vec<Candidate>, Failure> {
        let asked = self.options.model.as_slice();
        if asked.len() > MOST {
            let message = format!("at most {MOST} models can be compared; {} are named", asked.len());
            return Err(Failure::usage("too-many-models", message));
        }
        let candidates = match self.sessions().named()? {
            Named::Several(group) => self.members(&group, files)?,
            Named::One(_) if asked.len() > 1 => {
                let failure = Failure::usage("one-session", "a session continues with one model");
                return Err(failure.hint("to start a new comparison, leave out `-c` and `--session`"));
            }
            Named::One(id) => vec![self.goes_on(None, self.sessions().open(id)?, files)?],
            Named::None if asked.len() > 1 => {
                asked.iter().map(|name| self.fresh(Some(name), files)).collect::<Result<_, _>>()?
            }
            Named::None => vec![self.fresh(None, files)?],
        };
        each_once(&candidates)?;
        Ok(candidates)
    }

    /// Returns whether several models are requested, for a failure before they are known.
    pub(super) fn would_compare(&self) -> bool {
        let goes_on =
            || matches!(self.sessions().named(), Ok(Named::Several(group)) if group.members.len() > 1);
        self.options.model.len() > 1 || (self.options.model.is_empty() && goes_on())
    }

    /// Those of the last comparison: all that are left, or the ones that are named.
    fn members(&self, group: &Group, files: &SettingsPlan) -> Result<Vec<Candidate>, Failure> {
        let asked = self.options.model.as_slice();
        let members = group.members.as_slice();
        if asked.is_empty() {
            let gone = |model| format!("warning: of the last comparison the session of `{model}` is gone");
            self.console.warn_all(group.missing.iter().map(gone));
            let open = |(id, model): &(Uuid, String)| {
                let compared = (members.len() > 1).then_some(model.as_str());
                self.goes_on(compared, self.sessions().open(*id)?, files)
            };
            return members.iter().map(open).collect();
        }
        let chosen = |name: &String| {
            let candidate = self.fresh((asked.len() > 1).then_some(name), files)?;
            let id = &candidate.settings.model.id;
            let member = members.iter().find(|(_, model)| model == id);
            let (session, _) = member.ok_or_else(|| no_member(id, group))?;
            let session = self.sessions().open(*session)?;
            Ok(Candidate { session: Some(session.id.to_string()), continued: Some(session), ..candidate })
        };
        asked.iter().map(chosen).collect()
    }

    fn goes_on(
        &self,
        compared: Option<&str>,
        session: Session,
        files: &SettingsPlan,
    ) -> Result<Candidate, Failure> {
        let model = session.metadata.used_model();
        let schema = self.args.schema.as_deref();
        let settings = Settings::resolve(self.options, schema, compared, files, model, self.world)?;
        let foreign = session.metadata.imported_model().filter(|foreign| *foreign != settings.model.id);
        if let Some(foreign) = foreign {
            self.console.note(&format!("note: {}", imported_model_note(foreign)));
        }
        Ok(Candidate { settings, session: Some(session.id.to_string()), continued: Some(session) })
    }

    fn fresh(&self, compared: Option<&String>, files: &SettingsPlan) -> Result<Candidate, Failure> {
        let compared = compared.map(String::as_str);
        let schema = self.args.schema.as_deref();
        let settings = Settings::resolve(self.options, schema, compared, files, None, self.world)?;
        Ok(Candidate { settings, continued: None, session: None })
    }
}

fn no_member(id: &str, group: &Group) -> Failure {
    if group.missing.iter().any(|model| model == id) {
        let message = format!("of the last comparison the session of `{id}` is gone");
        return Failure::usage("no-such-session", message);
    }
    let message = format!("`{id}` took no part in the last comparison");
    let names: Vec<&str> = group.members.iter().map(|(_, model)| model.as_str()).collect();
    Failure::usage("no-such-session", message)
        .hint(format!("these did: {}", names.join(", ")))
        .hint(format!("`--session ID -m {id}` continues the session of one model"))
}

/// The same model under two names is still the same.
fn each_once(candidates: &[Candidate]) -> Result<(), Failure> {
    for (place, candidate) in candidates.iter().enumerate() {
        let id = &candidate.settings.model.id;
        if candidates.iter().take(place).any(|other| other.settings.model.id == *id) {
            return Err(Failure::usage("same-model", format!("`{id}` is named twice")));
        }
    }
    Ok(())
}
