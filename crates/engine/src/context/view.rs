//! The view: the transcript as a model is shown it.

use std::borrow::Cow;

use converse_canister::{Canister, Condensed, Content, Document, TurnId};

use super::room::is_lawful;
use super::shortened_input::handed_over;
use super::trimming::Trims;

const NAME: &str = "summary of the conversation so far";

/// Returns whether the document is the summary of the beginning of a conversation.
pub(super) fn is_summary(document: &Document) -> bool {
    document.name == NAME
}

/// Returns the summary in place of the canisters that it covers, and the other canisters as they were shortened. All system
/// texts stay, and the first and the last question of the user, with their documents. The view obeys the rule of a
/// transcript.
///
/// Servers that keep replies know them together with everything before them. So replies before `stale` lose their
/// response ids.
pub(crate) fn view<'t>(
    canisters: &'t [Canister],
    condensed: Option<&Condensed>,
    trims: &Trims,
    stale: Option<TurnId>,
) -> Cow<'t, [Canister]> {
    let condensed = condensed.filter(|condensed| {
        let covers = condensed.covers;
        covers == canisters.len() || (covers > 0 && is_lawful(canisters, covers))
    });
    if condensed.is_none() && trims.is_empty() && stale.is_none() {
        return Cow::Borrowed(canisters);
    }
    let covers = condensed.map_or(0, |condensed| condensed.covers);
    let covered = canisters.get(..covers).unwrap_or_default();
    let one = |at: usize| canisters.get(at).map(|canister| trims.shown(at, canister));
    let mut shown: Vec<Canister> = Vec::with_capacity(canisters.len() - covers + 4);
    shown.extend(covered.iter().filter(|one| matches!(one, Canister::Supervisor(_))).cloned());
    let first = covered.iter().position(is_user).map_or(0, |at| at + 1);
    let (task, last): (Vec<_>, Vec<_>) = pinned(canisters, covers).into_iter().partition(|at| *at < first);
    shown.extend(task.into_iter().filter_map(one));
    shown.extend(condensed.map(summary));
    shown.extend(last.into_iter().filter_map(one));
    shown.extend((covers..canisters.len()).filter_map(one).map(|canister| match canister {
        Canister::Assistant(mut assistant) if stale.is_some_and(|stale| assistant.turn < stale) => {
            assistant.response_id = None;
            Canister::Assistant(assistant)
        }
        canister => canister,
    }));
    Cow::Owned(shown)
}

/// Returns the indexes of the canisters that are shown although a summary covers them: the first question, and the last one
/// if there is no later one, each with its documents.
pub(super) fn pinned(canisters: &[Canister], covers: usize) -> Vec<usize> {
    let (covered, rest) = canisters.split_at(covers.min(canisters.len()));
    let first = covered.iter().position(is_user);
    let last = covered.iter().rposition(is_user).filter(|last| Some(*last) != first);
    let last = last.filter(|_| !rest.iter().any(is_user));
    let with = |question: usize| handed_over(covered, question).chain([question]);
    let mut places: Vec<usize> = first.into_iter().chain(last).flat_map(with).collect();
    places.sort_unstable();
    places
}

fn is_user(canister: &Canister) -> bool {
    matches!(canister, Canister::User(_))
}

/// Returns the canisters as they are shortened.
pub(crate) fn shortened(canisters: &[Canister], trims: &Trims) -> Vec<Canister> {
    canisters.iter().enumerate().map(|(at, canister)| trims.shown(at, canister)).collect()
}

/// Makes a document of a summary. It is not a message of the user, because its content may come from tools.
fn summary(condensed: &Condensed) -> Canister {
    let Condensed { summary, model, .. } = condensed;
    let text = format!("[The older part of this conversation, condensed by {model}.]\n\n{summary}");
    let content = vec![Content::text(text)];
    Canister::Document(Document {
        name: NAME.to_owned(),
        mime: "text/plain".to_owned(),
        content,
        labels: None,
    })
}

#[cfg(test)]
mod tests {
    use converse_canister::{Supervisor, Transcript};

    use super::*;
    use crate::context::testing::{call, document, reply, result, user};

    fn conversation() -> Vec<Canister> {
        vec![
            Canister::Supervisor(Supervisor { text: "be brief".into() }),
            user("the task"),
            reply(1, "looking"),
            call(1, 0, "t__x", "{}"),
            call(1, 1, "t__y", "{}"),
            result(1, 1, "y"),
            result(1, 0, "x"),
            reply(2, "done"),
            user("more"),
            reply(3, "again"),
            call(3, 0, "t__x", "{}"),
            result(3, 0, "z"),
        ]
    }

    fn lines(view: &[Canister]) -> Vec<String> {
        let text = |content: &[Content]| content.iter().filter_map(Content::as_text).collect::<String>();
        let one = |canister: &Canister| match canister {
            Canister::Supervisor(supervisor) => format!("system {}", supervisor.text),
            Canister::User(user) => format!("user {}", text(&user.content)),
            Canister::Document(document) if !is_summary(document) => format!("document {}", document.name),
            Canister::Document(document) => format!("summary {}", text(&document.content).len()),
            Canister::Assistant(assistant) => format!("reply {}", assistant.turn.0),
            Canister::Invocation(invocation) => format!("call {}", invocation.id),
            Canister::Result(result) => format!("result {}", result.id),
        };
        view.iter().map(one).collect()
    }

    fn seen(canisters: &[Canister], covers: usize) -> Vec<Canister> {
        let condensed = Condensed { covers, summary: "s".into(), model: "p/m".into() };
        view(canisters, Some(&condensed), &Trims::default(), None).into_owned()
    }

    #[test]
    fn the_summary_stands_for_what_it_covers_and_the_task_stays() {
        let all = conversation();
        let seven = seen(&all, 7);
        assert_eq!(
            lines(&seven),
            [
                "system be brief",
                "user the task",
                "summary 59",
                "reply 2",
                "user more",
                "reply 3",
                "call inv_3_0",
                "result inv_3_0"
            ]
        );
        assert_eq!(lines(&seen(&all, 9))[1..5], ["user the task", "summary 59", "user more", "reply 3"]);
        let all_of_it = seen(&all, all.len());
        assert_eq!(lines(&all_of_it), ["system be brief", "user the task", "summary 59", "user more"]);
        assert!(matches!(view(&all, None, &Trims::default(), None), Cow::Borrowed(_)));
    }

    #[test]
    fn what_was_handed_over_with_a_question_stays_with_it() {
        let mut all = conversation();
        all.splice(8..8, [document("later.txt", "l")]);
        all.splice(1..1, [document("spec.txt", "s"), document("more.txt", "m")]);
        let task =
            ["system be brief", "document spec.txt", "document more.txt", "user the task", "summary 59"];
        let last = ["document later.txt", "user more"];
        let none = seen(&all, all.len());
        assert_eq!(lines(&none), [&task[..], &last].concat());
        Transcript::try_from(none).unwrap();
        // Messages that are already in the view are not repeated.
        assert_eq!(lines(&seen(&all, 10))[..7], [&task[..], &last].concat());
        assert_eq!(lines(&seen(&all, 9))[..6], [&task[..], &["reply 2"]].concat());
        let mut trims = Trims::default();
        trims.pinned(&all, 9, &converse_canister::NoBlobs, 1);
        assert_eq!(trims.shortened_inputs(), 0, "small ones are no smaller for it");
    }

    #[test]
    fn a_view_is_lawful_wherever_it_is_cut() {
        let all = conversation();
        for covers in 0..=all.len() + 1 {
            let shown = seen(&all, covers);
            Transcript::try_from(shown.clone()).unwrap();
            if !(1..=all.len()).contains(&covers) || [1, 3, 4, 5, 6, 10, 11].contains(&covers) {
                assert_eq!(lines(&shown), lines(&all), "no place to cut at: {covers}");
            } else {
                assert!(shown != all, "{covers}");
            }
        }
    }

    #[test]
    fn replies_that_a_server_keeps_are_not_named_once_they_are_stale() {
        let all = conversation();
        let shown = view(&all, None, &Trims::default(), Some(TurnId(3)));
        let named: Vec<bool> = shown
            .iter()
            .filter_map(
                |one| if let Canister::Assistant(a) = one { Some(a.response_id.is_some()) } else { None },
            )
            .collect();
        assert_eq!(named, [false, false, true]);
    }
}
