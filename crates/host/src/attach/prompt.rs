//! `ask --prompt ENSEMBLE.NAME key=value … ["more words"]`: a prompt of an MCP server.
//!
//! Words from the left are arguments as long as they are `key=value` with an argument that the prompt declares. The
//! first other word and all after it are the user's text, which follows the prompt. A word that looks like a mistyped
//! argument is refused.

use std::collections::BTreeMap;

use converse_canister::Content;
use converse_ensemble::Artefacts;
use converse_mcp::{McpConnection, OfferError, Prompt, PromptArgument, PromptMessage, Reference, Speaker};
use converse_text::suggest::nearest;

use super::opening::says_something;
use super::suggested::suggested;
use crate::failure::{Failure, Kind};
use crate::secrets::Redactor;

/// A requested prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRequest {
    pub(super) ensemble: String,
    name: String,
    words: Vec<String>,
}

/// A fetched prompt.
pub(super) struct Filled {
    pub(super) messages: Vec<PromptMessage>,
    /// The user's text after the arguments.
    pub(super) rest: String,
}

/// The parsed words of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    arguments: BTreeMap<String, String>,
    rest: String,
}

impl PromptRequest {
    /// The name of a prompt may contain dots; that of an ensemble cannot.
    pub fn parse(named: &str, words: &[String]) -> Result<Self, Failure> {
        let parts = named.split_once('.').filter(|(ensemble, name)| !ensemble.is_empty() && !name.is_empty());
        let (ensemble, name) = parts.ok_or_else(|| {
            Failure::usage("bad-prompt", format!("`{named}` is not a prompt name: expected ENSEMBLE.NAME"))
                .hint("`converse ensembles show ENSEMBLE --connect` lists the prompts of its server")
        })?;
        Ok(Self { ensemble: ensemble.to_owned(), name: name.to_owned(), words: words.to_vec() })
    }

    fn shown(&self) -> String {
        format!("{}.{}", self.ensemble, self.name)
    }

    pub(super) async fn filled(
        &self,
        server: &McpConnection,
        redactor: &Redactor,
        artefacts: &dyn Artefacts,
    ) -> Result<Filled, Failure> {
        let prompt = self.declared(server).await?;
        let given = self.given(&prompt)?;
        let missing: Vec<&PromptArgument> = prompt
            .arguments
            .iter()
            .filter(|one| one.required && !given.arguments.contains_key(&one.name))
            .collect();
        if !missing.is_empty() {
            return Err(self.incomplete(server, &prompt, &missing, &given).await);
        }
        let messages = server.prompt(&self.name, &given.arguments, artefacts).await.map_err(|error| {
            let (kind, said) = match error {
                OfferError::Unknown(said) => (Kind::Usage, said),
                OfferError::Failed(said) => (Kind::Ensemble, said),
            };
            let message = format!("the prompt `{}` could not be fetched: {said}", self.shown());
            Failure::new(kind, "prompt", message)
        })?;
        let messages = messages.into_iter().map(|message| redacted(message, redactor)).collect();
        Ok(Filled { messages, rest: given.rest })
    }

    /// Returns whether the message may be the last before the model's reply.
    pub(super) fn expects_reply(&self, messages: &[PromptMessage]) -> Result<(), Failure> {
        let last = messages.iter().rfind(|message| says_something(message));
        match last.map(|message| message.speaker) {
            Some(Speaker::User) => Ok(()),
            Some(Speaker::Assistant) => {
                let message = format!("the prompt `{}` ends with a message of the assistant", self.shown());
                Err(Failure::usage("no-prompt", message).hint("add a question after its arguments"))
            }
            None => {
                let message = format!("the prompt `{}` is empty", self.shown());
                Err(Failure::new(Kind::Ensemble, "prompt", message))
            }
        }
    }

    async fn declared(&self, server: &McpConnection) -> Result<Prompt, Failure> {
        let listed = server.prompts().await.map_err(|error| {
            let message = format!("the prompts of `{}` could not be listed: {error}", self.ensemble);
            Failure::new(Kind::Ensemble, "prompt", message)
        })?;
        if let Some(found) = listed.items.iter().find(|prompt| prompt.name == self.name) {
            return Ok(found.clone());
        }
        let left_out = listed.skipped.iter().filter_map(|line| line.split_once(": "));
        if let Some((_, why)) = left_out.into_iter().find(|(name, _)| *name == self.name) {
            let message = format!("the prompt `{}` cannot be used: {why}", self.shown());
            return Err(Failure::new(Kind::Ensemble, "prompt", message));
        }
        let message = format!("`{}` has no prompt `{}`", self.ensemble, self.name);
        let names = listed.items.iter().map(|prompt| prompt.name.as_str());
        let otherwise = match listed.items.is_empty() {
            true => "its server offers no prompts".to_owned(),
            false => format!("`converse ensembles show {} --connect` lists its prompts", self.ensemble),
        };
        Err(Failure::usage("no-such-prompt", message).did_you_mean(&self.name, names, &otherwise))
    }

    fn given(&self, prompt: &Prompt) -> Result<Given, Failure> {
        let mut arguments = BTreeMap::new();
        let mut words = self.words.iter();
        let mut rest: Vec<&str> = Vec::new();
        for word in words.by_ref() {
            let pair = word.split_once('=');
            let Some((key, value)) = pair.filter(|(key, _)| is_declared(key, prompt)) else {
                if let Some((key, _)) = pair {
                    self.is_meant(key, prompt, &arguments)?;
                }
                rest.push(word);
                break;
            };
            if arguments.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(Failure::usage("bad-argument", format!("`{key}` is given twice")));
            }
        }
        rest.extend(words.map(String::as_str));
        Ok(Given { arguments, rest: rest.join(" ") })
    }

    /// A key similar to a missing argument is a typing error.
    fn is_meant(&self, key: &str, prompt: &Prompt, given: &BTreeMap<String, String>) -> Result<(), Failure> {
        let open =
            prompt.arguments.iter().map(|one| one.name.as_str()).filter(|name| !given.contains_key(*name));
        let Some(near) = nearest(key, open).filter(|_| !key.contains(char::is_whitespace)) else {
            return Ok(());
        };
        let message = format!("the prompt `{}` has no argument `{key}`", self.shown());
        Err(Failure::usage("unknown-argument", message).hint(format!("did you mean `{near}`?")))
    }

    async fn incomplete(
        &self,
        server: &McpConnection,
        prompt: &Prompt,
        missing: &[&PromptArgument],
        given: &Given,
    ) -> Failure {
        let names: Vec<String> = missing.iter().map(|one| format!("`{}`", one.name)).collect();
        let message = format!("the prompt `{}` needs {}", self.shown(), names.join(", "));
        let mut failure = Failure::usage("missing-argument", message);
        for argument in &prompt.arguments {
            let need = if argument.required { "required" } else { "optional" };
            let about = argument.description.as_ref().map(|about| format!("  {about}")).unwrap_or_default();
            failure = failure.hint(format!("{}=… ({need}){about}", argument.name));
        }
        let names = missing.iter().map(|argument| argument.name.as_str());
        suggested(failure, server, Reference::Prompt(&self.name), names, &given.arguments).await
    }
}

fn is_declared(key: &str, prompt: &Prompt) -> bool {
    prompt.arguments.iter().any(|argument| argument.name == key)
}

/// A server that was given a key may repeat it.
fn redacted(message: PromptMessage, redactor: &Redactor) -> PromptMessage {
    let clean = |content: Content| match content {
        Content::Text { text, seal } => Content::Text { text: redactor.clean(&text), seal },
        Content::Resource { uri, name, mime } => Content::Resource {
            uri: redactor.clean(&uri),
            name: name.map(|name| redactor.clean(&name)),
            mime,
        },
        other => other,
    };
    PromptMessage { content: message.content.into_iter().map(clean).collect(), ..message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Result<Given, Failure> {
        let argument =
            |name: &str| PromptArgument { name: name.to_owned(), description: None, required: false };
        let arguments = vec![argument("city"), argument("tone")];
        let prompt = Prompt { name: "p".into(), title: None, description: None, arguments };
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        PromptRequest::parse("e.p", &words).unwrap().given(&prompt)
    }

    #[test]
    fn arguments_come_first_and_words_after_them() {
        for (words, arguments, rest) in [
            (&[][..], &[][..], ""),
            (&["city=Paris"], &[("city", "Paris")], ""),
            (&["city=a=b", "tone="], &[("city", "a=b"), ("tone", "")], ""),
            (&["tone=dry", "and", "then"], &[("tone", "dry")], "and then"),
            (&["what is x=1?"], &[], "what is x=1?"),
            (&["hello", "city=Paris"], &[], "hello city=Paris"),
            (&["city=Paris", "population=2"], &[("city", "Paris")], "population=2"),
        ] {
            let given = given(words).unwrap();
            let found: Vec<_> =
                given.arguments.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!((found.as_slice(), given.rest.as_str()), (arguments, rest), "{words:?}");
        }
    }

    #[test]
    fn slips_are_not_taken_for_words() {
        for (words, code) in [
            (&["ciyt=Paris"][..], "unknown-argument"),
            (&["city=Paris", "tome=dry"], "unknown-argument"),
            (&["city=Paris", "city=Rome"], "bad-argument"),
        ] {
            assert_eq!(given(words).unwrap_err().code, code, "{words:?}");
        }
        for named in ["", "e", "e.", ".p"] {
            assert_eq!(PromptRequest::parse(named, &[]).unwrap_err().code, "bad-prompt", "{named}");
        }
        assert_eq!(PromptRequest::parse("e.a.b", &[]).unwrap().name, "a.b");
    }

    #[test]
    fn a_prompt_alone_must_leave_the_model_something_to_answer() {
        let request = PromptRequest::parse("e.p", &[]).unwrap();
        let says = |speaker, text: &str| PromptMessage { speaker, content: vec![Content::text(text)] };
        let (user, assistant) = (says(Speaker::User, "a"), says(Speaker::Assistant, "b"));
        assert!(request.expects_reply(&[assistant.clone(), user.clone()]).is_ok());
        assert_eq!(request.expects_reply(&[user.clone(), assistant]).unwrap_err().code, "no-prompt");
        assert!(request.expects_reply(&[user, says(Speaker::Assistant, " ")]).is_ok());
        assert_eq!(request.expects_reply(&[]).unwrap_err().kind, Kind::Ensemble);
    }
}
