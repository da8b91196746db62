//! `/model` without the whole name of a model: what the configured providers serve, and the models that converse knows.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use converse_provider::ListedModel;
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::approver::{Listing, Pick};
use crate::render::models::{UNKNOWN, cells, ends};
use crate::repl::session::ReplSession;
use crate::repl::turn::with_stop_notice;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::model::{self, Reach, UNDERSTUDY};
use converse_host::model_lists::{Freshness, OfferedModel, offered_models, provider_list_within, understudy};
use converse_text::safe_line;

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
        let mut models = Models(self.choices().await?.into_iter().map(Arc::new).collect());
        match self.picks(&mut models, asked).await? {
            Pick::Entry(choice) => self.switch_model(&choice.offered.id),
            // One that no list names may exist all the same.
            Pick::Words(words) if models.takes(&words) => self.switch_model(&words),
            Pick::Words(words) => {
                self.view.note(&models.nothing(&words));
                Ok(())
            }
            Pick::Nothing => Ok(()),
        }
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

/// All that can be chosen, the current one first.
struct Models(Vec<Arc<Choice>>);

impl Listing for Models {
    type Item = Arc<Choice>;
    const QUESTION: &'static str = "which model?";
    const LEGEND: &'static str = "its number, or words to search for; Enter: the current one stays";

    /// The choices whose id has all of the words. Those come first in which all of them begin a part of the model's name,
    /// then those that have all of them in it.
    fn found(&mut self, words: &str) -> Vec<Arc<Choice>> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let has_all = |text: &str| {
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let mut found: Vec<Arc<Choice>> =
            self.0.iter().filter(|choice| has_all(&choice.offered.id)).cloned().collect();
        let begin_parts = |name: &str| {
            let name = name.to_lowercase();
            let is_inside =
                |at: usize| name.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
            words.iter().all(|word| name.match_indices(word.as_str()).any(|(at, _)| !is_inside(at)))
        };
        found.sort_by_key(|choice| {
            let name = name(&choice.offered.id);
            (!begin_parts(name), !has_all(name))
        });
        found
    }

    fn nothing(&self, _: &str) -> String {
        "no model contains these words".to_owned()
    }

    fn heading(&self) -> Vec<String> {
        ["model", "window", "price per million tokens"].map(str::to_owned).to_vec()
    }

    fn cells(&self, choice: &Arc<Choice>) -> Vec<String> {
        let mut cells = cells(&choice.offered);
        // What may be cut off comes last.
        let price = cells.pop().unwrap_or_default();
        cells.push(match choice.note.as_str() {
            "" => price,
            note if price == UNKNOWN => note.to_owned(),
            note => format!("{note} · {price}"),
        });
        cells.iter().map(|cell| safe_line(cell, NAME)).collect()
    }

    fn takes(&self, words: &str) -> bool {
        !words.contains(char::is_whitespace)
    }
}

/// A model without its provider, and without what a provider of others puts before it.
fn name(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(ids: &[&str]) -> Models {
        let choice = |id: &&str| Choice {
            offered: OfferedModel { id: (*id).to_owned(), ..understudy() },
            note: String::new(),
            has_key: true,
        };
        Models(ids.iter().map(choice).map(Arc::new).collect())
    }

    #[test]
    fn what_is_in_the_name_comes_before_what_is_in_the_provider() {
        let mut models = models(&[
            "minimax/m2",
            "gemini/gemini-3-pro",
            "gemini/x",
            "openai/gpt-5-mini",
            "openrouter/mini/y",
        ]);
        let mut found = |words: &str| {
            models.found(words).iter().map(|choice| choice.offered.id.clone()).collect::<Vec<_>>().join(" ")
        };
        let all = "openai/gpt-5-mini gemini/gemini-3-pro minimax/m2 gemini/x openrouter/mini/y";
        assert_eq!(found("mini"), all);
        assert_eq!(found("OPENAI Mini"), "openai/gpt-5-mini");
        assert_eq!(found("nothing"), "");
        assert!(found("").starts_with("minimax/m2 gemini/gemini-3-pro"));
    }
}
