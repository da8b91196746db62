//! A connection that redacts keys from results before the model, journal, audit log and screen get them.
//!
//! A tool that was given a key may repeat it (an error page, a debug line, a file). Without this the key would be
//! stored on disk and sent to the provider.

use std::future::ready;
use std::sync::Arc;

use converse_canister::{Arguments, Content};
use converse_config::LogLevel;
use converse_ensemble::{
    Answer, ConnectError, Connection, Context, Ensemble, Instructions, Invocable, InvokeError, NoticeSender,
    Notices, OfferKind, Relay, Tool,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::secrets::Redactor;

/// A connection whose results are redacted.
pub(crate) struct RedactingConnection<C> {
    pub inner: C,
    pub redactor: Redactor,
}

impl<C> RedactingConnection<C> {
    fn wrapped(&self, tools: Vec<Tool>) -> Vec<Tool> {
        let wrap = |mut tool: Tool| {
            let redactor = self.redactor.clone();
            tool.invocable = Arc::new(DiscreetTool { inner: tool.invocable, redactor });
            tool
        };
        tools.into_iter().map(wrap).collect()
    }
}

impl<C: Connection> Connection for RedactingConnection<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.inner.connect(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn instructions(&self) -> Option<Instructions> {
        let mut instructions = self.inner.instructions()?;
        self.redactor.clean_text(&mut instructions.text);
        Some(instructions.shortened())
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.inner.relay().map(|_| self as &dyn Relay)
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}

impl<C: Connection> Relay for RedactingConnection<C> {
    fn notices(&self) -> Notices {
        let redactor = self.redactor.clone();
        let notices = self.inner.relay().map_or_else(|| NoticeSender::default().notices(), Relay::notices);
        notices.cleaned(move |text| redactor.clean(text))
    }

    fn set_log_level(&self, level: LogLevel) {
        self.inner.relay().into_iter().for_each(|relay| relay.set_log_level(level));
    }

    fn list(&self, kind: OfferKind) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        let Some(relay) = self.inner.relay() else { return ready(Ok(Vec::new())).boxed() };
        let cleaned = |mut listed: Result<Vec<Value>, String>| {
            match &mut listed {
                Ok(entries) => entries.iter_mut().for_each(|entry| self.redactor.clean_json(entry)),
                Err(why) => self.redactor.clean_text(why),
            }
            listed
        };
        relay.list(kind).map(cleaned).boxed()
    }

    fn readers(&self, ensemble: &Ensemble) -> Vec<Tool> {
        self.wrapped(self.inner.relay().map(|relay| relay.readers(ensemble)).unwrap_or_default())
    }

    fn subscribe<'a>(&'a self, uri: &'a str, wanted: bool) -> BoxFuture<'a, Result<(), String>> {
        let Some(relay) = self.inner.relay() else { return ready(Ok(())).boxed() };
        relay.subscribe(uri, wanted).map(|done| done.map_err(|why| self.redactor.clean(&why))).boxed()
    }
}

struct DiscreetTool {
    inner: Arc<dyn Invocable>,
    redactor: Redactor,
}

impl Invocable for DiscreetTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        let redactor = self.redactor.clone();
        let host = context.host.clone().cleaned(move |line| redactor.clean_line(line));
        let context = Context { host, ..context };
        let clean = |answer| match answer {
            Ok(answer) => Ok(self.clean(answer)),
            Err(error) => Err(self.clean_error(error)),
        };
        self.inner.invoke(context, arguments).map(clean).boxed()
    }
}

impl DiscreetTool {
    fn clean(&self, mut answer: Answer) -> Answer {
        // A result that needs redaction is not passed on verbatim.
        answer.verbatim = answer.verbatim.filter(|text| !self.redactor.is_in_json(text));
        for content in &mut answer.content {
            match content {
                Content::Text { text, .. } | Content::Reasoning { text, .. } => {
                    self.redactor.clean_text(text)
                }
                Content::Structured { value } => self.redactor.clean_json(value),
                Content::Resource { uri, name, .. } => {
                    self.redactor.clean_text(uri);
                    name.iter_mut().for_each(|name| self.redactor.clean_text(name));
                }
                Content::Blob { .. } => {}
            }
        }
        answer
    }

    fn clean_error(&self, mut error: InvokeError) -> InvokeError {
        match &mut error {
            InvokeError::Invalid(text)
            | InvokeError::Unreachable { message: text, .. }
            | InvokeError::NoDescriptors(text)
            | InvokeError::Failed(text)
            | InvokeError::Interrupted(text)
            | InvokeError::Unsandboxed(text)
            | InvokeError::HeldBack(text)
            | InvokeError::Timeout(text) => self.redactor.clean_text(text),
            InvokeError::Kept(kept) => {
                return InvokeError::Kept(Box::new(self.clean_error((**kept).clone())));
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::secrets::Secret;

    struct Nobody;
    impl Invocable for Nobody {
        fn invoke<'a>(&'a self, _: Context, _: &'a Arguments) -> BoxFuture<'a, Result<Answer, InvokeError>> {
            std::future::pending().boxed()
        }
    }

    #[test]
    fn what_a_server_wrote_is_not_handed_on_if_a_key_is_in_it_however_it_is_written() {
        let redactor = Redactor::default();
        let untold = DiscreetTool { inner: Arc::new(Nobody), redactor: redactor.clone() };
        let tool = DiscreetTool { inner: Arc::new(Nobody), redactor: Redactor::default() };
        tool.redactor.learn([Secret::new("can/ary\"\u{dc}\n0123456789")]);
        for (text, is_kept) in [
            (r#"{"content":[{"type":"text","text":"nothing \/ of \u00dc it"}]}"#, true),
            (r#"{"content":[{"type":"text","text":"can\/ary\"\u00dc\n0123456789"}]}"#, false),
            (r#"{"content":[{"type":"text","text":"c\u0061n/ary\"Ü\u000a0123456789"}]}"#, false),
            (r#"{"content":[],"_meta":{"a":[{"x can/ary\"\u00DC\n0123456789":1}]}}"#, false),
            (r#"{"content":[],"_meta":{"can\/ary\"\u00dc\n012345…":1}}"#, false),
            (r#"{"content":["\/ cut"#, false),
        ] {
            let answer = || Answer { verbatim: Some(text.into()), ..Answer::new(Vec::new(), false) };
            assert_eq!(tool.clean(answer()).verbatim.is_some(), is_kept, "{text}");
            assert!(untold.clean(answer()).verbatim.is_some(), "nothing to look for: {text}");
        }
        redactor.learn([Secret::new("canary-0123456789")]);
        let plain: Arc<str> = r#"{"content":["canary-0123456789"]}"#.into();
        assert_eq!(untold.clean(Answer { verbatim: Some(plain), ..Answer::text("") }).verbatim, None);
    }

    #[test]
    fn a_key_is_taken_out_wherever_an_answer_holds_it() {
        let redactor = Redactor::default();
        redactor.learn([Secret::new("canary-0123456789")]);
        let tool = DiscreetTool { inner: Arc::new(Nobody), redactor };
        let said = "it is canary-0123456789.";
        let content = vec![
            Content::text(said),
            Content::Structured { value: json!({ "key": [said] }) },
            Content::Resource { uri: said.to_owned(), name: Some(said.to_owned()), mime: None },
        ];
        let cleaned = tool.clean(Answer::new(content, false));
        assert!(!format!("{cleaned:?}").contains("canary"), "{cleaned:?}");
        assert_eq!(cleaned.content[0], Content::text("it is [redacted]."));
        let errors: [fn(String) -> InvokeError; 8] = [
            InvokeError::Invalid,
            InvokeError::NoDescriptors,
            InvokeError::Failed,
            InvokeError::Interrupted,
            InvokeError::Unsandboxed,
            InvokeError::HeldBack,
            InvokeError::Timeout,
            |message| InvokeError::Unreachable { message, sent: true },
        ];
        for error in errors {
            assert_eq!(tool.clean_error(error(said.to_owned())).to_string(), "it is [redacted].");
        }
    }
}
