//! `/model` without the whole name of a model: what the configured providers serve, and the models that converse knows.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use converse_provider::ListedModel;
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::render::models::{cells, ends};
use crate::repl::session::ReplSession;
use crate::repl::turn::with_stop_notice;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::model::{self, Reach, UNDERSTUDY};
use converse_host::model_lists::{Freshness, OfferedModel, offered_models, provider_list_within, understudy};
use converse_text::safe_line;

/// Number of listed models.
const MOST: usize = 10;
/// Number of lists that one command shows, one after the other.
const ROUNDS: usize = 50;
/// Time limit for the list of a provider.
const ASKING: Duration = Duration::from_secs(5);
/// Characters of a model's name. It is the text of a server.
const NAME: usize = 60;
/// Providers that are named in one message.
const NAMED: usize = 5;
const SIGNAL_OF_KEY: u8 = 2;

/// A model, and what is said behind it.
struct Choice {
    offered: OfferedModel,
    note: String,
    has_key: bool,
}

/// The list of a provider, or why there is none. `None`: nobody asked for it.
type Listed = Option<Result<Vec<ListedModel>, String>>;

impl ReplSession<'_> {
    /// Switches to the named model, or to one that the user chooses.
    pub(super) async fn model(&mut self, asked: Option<&str>) -> Result<(), Failure> {
        match asked {
            Some(id) if self.is_whole(id) => self.switch_model(id),
            asked => self.pick_model(asked.unwrap_or_default()).await,
        }
    }

    /// Returns whether this names a provider and a model.
    fn is_whole(&self, id: &str) -> bool {
        let Some((provider, name)) = id.split_once(['/', ':']) else { return id == UNDERSTUDY };
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        is_name && model::reach(provider, &self.files, self.world).is_some()
    }

    async fn pick_model(&mut self, asked: &str) -> Result<(), Failure> {
        self.await_servers_first().await?;
        let choices = self.choices().await?;
        let mut asked = asked.to_owned();
        for _ in 0..ROUNDS {
            let found = matching(&choices, &asked);
            if found.is_empty() {
                // One that no list names may exist all the same.
                if !asked.trim().contains(char::is_whitespace) {
                    return self.switch_model(asked.trim());
                }
                self.view.note("no model contains these words");
                return Ok(());
            }
            self.view.say(self.view.table(&rows(&found)).trim_end());
            if let Some(more) = found.len().checked_sub(MOST).filter(|more| *more > 0) {
                self.view.note(&format!("{more} more; type words to search"));
            }
            let question = "which model? (its number, or words to search for; Enter: the current one stays) ";
            let Some(picked) = self.read_answer(question).await? else { return Ok(()) };
            let place = picked.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            if let Some(choice) = place.and_then(|place| found.iter().take(MOST).nth(place)) {
                return self.switch_model(&choice.offered.id);
            }
            asked = picked;
        }
        Ok(())
    }

    /// All models that can be chosen, the current one first. Says which lists are missing, and why.
    async fn choices(&self) -> Result<Vec<Choice>, Failure> {
        let current = &self.settings.model;
        let reaches = self.reaches();
        let lists = self.lists(&reaches).await?;
        self.tell_missing(&reaches, &lists);
        let mut choices: Vec<Choice> = Vec::new();
        for (reach, list) in reaches.iter().zip(lists) {
            let missing = reach.missing_key().map(|variable| format!("no {variable}"));
            let mut models = offered_models(reach, list.and_then(Result::ok), &self.files);
            // Well-known models before the rest of a long list.
            models.sort_by_key(|offered| offered.lore.table.is_none());
            choices.extend(models.into_iter().map(|offered| Choice {
                note: missing.clone().or_else(|| ends(&offered)).unwrap_or_default(),
                has_key: missing.is_none(),
                offered,
            }));
        }
        choices.push(Choice { offered: understudy(), note: String::new(), has_key: true });
        let is_current = |choice: &Choice| choice.offered.id == current.id;
        if !choices.iter().any(is_current)
            && let Some(reach) = reaches.iter().find(|reach| self.is_of_model(reach))
        {
            let lore = model::Lore::of(reach, &current.name, &self.files, self.world);
            let offered = OfferedModel { id: current.id.clone(), lore };
            choices.push(Choice { offered, note: String::new(), has_key: true });
        }
        choices.sort_by_key(|choice| (!is_current(choice), !choice.has_key));
        if let Some(first) = choices.first_mut().filter(|first| is_current(first)) {
            first.note = "current".to_owned();
        }
        Ok(choices)
    }

    fn is_of_model(&self, reach: &Reach) -> bool {
        reach.endpoint.provider == self.settings.model.endpoint.provider
    }

    /// The providers with a base URL, each server once: that of the current model, those that the user set up, the others.
    fn reaches(&self) -> Vec<Reach> {
        let mut reaches = model::all(&self.files, self.world);
        reaches.sort_by_key(|reach| (!self.is_of_model(reach), !reach.is_configured(&self.files)));
        let mut urls = HashSet::new();
        reaches
            .retain(|reach| reach.require_base_url().is_ok() && urls.insert(reach.endpoint.base_url.clone()));
        reaches
    }

    /// Asks the configured providers at once, for a few seconds. Esc or Ctrl-C ends the wait.
    async fn lists(&self, reaches: &[Reach]) -> Result<Vec<Listed>, Failure> {
        let is_replayed = self.console.context.cassette.answers_for_models();
        let is_asked = |reach: &&Reach| {
            let is_meant = self.is_of_model(reach) || reach.is_configured(&self.files);
            !is_replayed && is_meant && reach.missing_key().is_none()
        };
        let name = |reach: &Reach| reach.endpoint.provider.to_string();
        let names: Vec<String> = reaches.iter().filter(is_asked).map(name).collect();
        let unasked = |reach: &Reach| {
            is_asked(&reach).then(|| Err(format!("the wait for the models of `{}` was ended", name(reach))))
        };
        let lists: RefCell<Vec<Listed>> = RefCell::new(reaches.iter().map(unasked).collect());
        let ask = async |(place, reach): (usize, &Reach)| {
            // What a server of this machine has may change at any time.
            let freshness = if reach.endpoint.is_loopback() { Freshness::New } else { Freshness::Recent };
            let list = provider_list_within(reach, freshness, ASKING, self.world).await;
            let list = list.map(|list| list.map(|list| list.models).unwrap_or_default());
            if let Some(slot) = lists.borrow_mut().get_mut(place) {
                *slot = Some(list.map_err(|failure| failure.message));
            }
        };
        if !names.is_empty() {
            let asked = reaches.iter().enumerate().filter(|(_, reach)| is_asked(reach));
            let asks = join_all(asked.map(ask)).boxed_local();
            self.waits(&format!("asking for the models of {}", names.join(", ")), asks).await?;
        }
        Ok(lists.into_inner())
    }

    /// Waits for work, unless the user ends the wait. Another signal is the end of the program.
    async fn waits<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let interrupt: &Interrupt = &attended.interrupt;
        let view = Arc::clone(&self.view);
        view.begin_turn();
        let wait = view.wait_for(what);
        let work = async {
            tokio::select! {
                _ = work => {}
                () = interrupt.token.cancelled() => {}
            }
        };
        view.during(with_stop_notice(&view, &attended, work)).await;
        view.waited(wait);
        view.end_turn(None);
        match interrupt.number() {
            None | Some(SIGNAL_OF_KEY) => Ok(()),
            Some(_) => Err(interrupt.failure()),
        }
    }

    fn tell_missing(&self, reaches: &[Reach], lists: &[Listed]) {
        let mut others = Vec::new();
        for (reach, list) in reaches.iter().zip(lists) {
            match list {
                Some(Err(why)) if self.is_of_model(reach) => {
                    self.view.note(&format!("{why}; its models below are those that converse knows"));
                }
                Some(Err(_)) => others.push(reach.endpoint.provider.as_str()),
                _ => {}
            }
        }
        if let Some(told) = without_list(&others) {
            self.view.note(&told);
        }
        if self.console.context.cassette.answers_for_models() {
            self.view.note("the models are replayed from a cassette, so no provider is asked for its list");
        } else if lists.iter().all(Option::is_none) {
            self.view.note("no provider has a key, so the models are those that converse knows");
        }
    }
}

/// The message about other providers whose list is missing.
fn without_list(providers: &[&str]) -> Option<String> {
    let (first, shown) = (providers.first()?, providers.get(..NAMED).unwrap_or(providers).join(", "));
    let more = match providers.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("no model list of {shown}{more}: `converse models list {first}` says why"))
}

/// The choices whose id has all of the words.
fn matching<'c>(choices: &'c [Choice], words: &str) -> Vec<&'c Choice> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let has_all = |choice: &&Choice| {
        let id = choice.offered.id.to_lowercase();
        words.iter().all(|word| id.contains(word.as_str()))
    };
    choices.iter().filter(has_all).collect()
}

/// A table of the first choices, numbered.
fn rows(found: &[&Choice]) -> Vec<Vec<String>> {
    let heading = ["", "model", "window", "price per million tokens", ""].map(str::to_owned).to_vec();
    let row = |(place, choice): (usize, &&Choice)| {
        let mut row = vec![(place + 1).to_string()];
        row.extend(cells(&choice.offered).iter().map(|cell| safe_line(cell, NAME)));
        row.push(choice.note.clone());
        row
    };
    [heading].into_iter().chain(found.iter().take(MOST).enumerate().map(row)).collect()
}
