//! `/model`, `/system`, `/reasoning`: who answers, how it is led, what of its thinking is shown.

use converse_canister::{Canister, Maker};

use crate::repl::require_key;
use crate::repl::session::ReplSession;
use converse_host::failure::Failure;
use converse_host::options::TurnOptions;
use converse_text::wording::{grouped, they};

impl ReplSession<'_> {
    pub(super) fn switch_model(&mut self, id: &str) -> Result<(), Failure> {
        let options = TurnOptions { model: vec![id.to_owned()], ..self.options.clone() };
        let settings = self.resolved(&options)?;
        require_key(&settings)?;
        self.settle(options, settings);
        self.view.say(&self.model_line());
        self.understudy();
        match self.strangers() {
            0 => {}
            count => self.view.note(&format!(
                "{} to it as words and calls; what those models keep sealed (their reasoning) is not shown to it",
                they(count, "reply", ["of another model goes", "of other models go"]),
            )),
        }
        Ok(())
    }

    fn model_line(&self) -> String {
        let model = &self.settings.model;
        let window = model
            .facts
            .window
            .map(|tokens| format!(" · context window of {} tokens", grouped(tokens)))
            .unwrap_or_default();
        let fallbacks: Vec<&str> =
            self.settings.fallbacks.models.iter().map(|model| model.id.as_str()).collect();
        let instead = match fallbacks.is_empty() {
            true => String::new(),
            false => format!(" · fallback: {}", fallbacks.join(", ")),
        };
        format!("{}{window}{instead}", model.id)
    }

    /// Replies with a sealed form that the model of now is not shown.
    fn strangers(&self) -> usize {
        let model = &self.settings.model;
        let own = |maker: &Maker| maker.provider == model.endpoint.provider && maker.model == model.name;
        let strange = |one: &&Canister| match one {
            Canister::Assistant(assistant) => {
                assistant.native.as_ref().is_some_and(|native| !own(&native.maker))
            }
            _ => false,
        };
        self.conversation.transcript().as_slice().iter().filter(strange).count()
    }

    /// Users of the understudy should know that it is not a model.
    pub(in crate::repl) fn understudy(&self) {
        if self.settings.model.is_understudy() {
            self.view.note(
                "the understudy answers: a keyword router, not a language model; set a key (ANTHROPIC_API_KEY, \
                 OPENAI_API_KEY …) or choose with /model",
            );
        }
    }

    pub(super) fn system(&mut self, text: Option<&str>) -> Result<(), Failure> {
        let Some(text) = text else {
            let said = self.settings.system.as_deref().unwrap_or("there is no system text");
            self.view.say(said);
            return Ok(());
        };
        let options = TurnOptions { system: Some(text.to_owned()), ..self.options.clone() };
        let settings = self.resolved(&options)?;
        self.settle(options, settings);
        self.view.note("the change takes effect with the next message");
        Ok(())
    }

    pub(super) fn reasoning(&self, on: Option<bool>) {
        let on = on.unwrap_or(!self.view.shows_reasoning());
        self.view.show_reasoning(on);
        self.view.note(if on { "reasoning is shown" } else { "reasoning is hidden" });
    }
}
