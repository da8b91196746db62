//! Final answers that must have a form: how often they may be repaired, and which part of a text they are.

use converse_canister::{Canister, Transcript, User};

use crate::Ending;

/// Number of repeated requests after an invalid answer.
const REPAIRS: u32 = 2;
const MAX_ERRORS: usize = 2048;

/// The repairs so far, and whether the final answer was accepted.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerState {
    repairs: u32,
    pub(crate) accepted: bool,
}

impl AnswerState {
    /// Returns the message to the model about an invalid answer, or the ending after too many repairs.
    pub(crate) fn repair(&mut self, errors: &str) -> Result<Canister, Ending> {
        let errors = &errors[..errors.floor_char_boundary(MAX_ERRORS)];
        if self.repairs >= REPAIRS {
            return Err(Ending::InvalidAnswer { errors: errors.to_owned() });
        }
        self.repairs += 1;
        let text = format!(
            "Your answer does not fit what was asked for: {errors}\nGive the whole answer again, as JSON and nothing else."
        );
        Ok(Canister::User(User::text(text)))
    }
}

/// Returns the text of the last reply, without the code fence that models like to put around JSON.
pub(crate) fn last_words(transcript: &Transcript) -> String {
    let turn = transcript.as_slice().iter().rev().find_map(Canister::turn);
    let words = transcript.as_slice().iter().filter_map(|canister| match canister {
        Canister::Assistant(assistant) if Some(assistant.turn) == turn => Some(assistant.words()),
        _ => None,
    });
    unfenced(&words.collect::<String>()).to_owned()
}

fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    // The first line is the fence's own: the name of a language, or nothing.
    let Some((language, inner)) = inner.and_then(|inner| inner.split_once('\n')) else { return text };
    if language.contains(['{', '[', '"']) { text } else { inner.trim() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_taken_off_and_nothing_else() {
        for (text, inner) in [
            ("{\"a\":1}", "{\"a\":1}"),
            (" \n{\"a\":1}\n", "{\"a\":1}"),
            ("```json\n{\"a\":1}\n```", "{\"a\":1}"),
            ("```\r\n[1]\r\n```\n", "[1]"),
            ("``` JSON \n1\n```", "1"),
            ("Here: ```json\n1\n```", "Here: ```json\n1\n```"),
            ("```json\n1", "```json\n1"),
            ("```{\n1```", "```{\n1```"),
            ("```", "```"),
            ("", ""),
        ] {
            assert_eq!(unfenced(text), inner, "{text:?}");
        }
    }

    #[test]
    fn it_is_put_right_twice_and_the_words_are_bounded() {
        let mut answer_state = AnswerState::default();
        assert!(answer_state.repair("no").is_ok() && answer_state.repair("no").is_ok());
        let Err(Ending::InvalidAnswer { errors }) = answer_state.repair(&"é".repeat(5000)) else { panic!() };
        assert!(errors.len() <= MAX_ERRORS && errors.starts_with('é'));
    }
}
