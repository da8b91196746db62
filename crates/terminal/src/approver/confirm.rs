//! Questions that are not about a call: yes or no, or one of a few.

use super::answers::{Answer, Choices};
use super::asking::answer;
use super::menu::{Choice, Menu};
use super::reading::read_answer;
use crate::view::TerminalView;

/// Asks for a line; `None` if there is no answer.
pub async fn asks(view: &TerminalView, question: String) -> Option<String> {
    let line = view.suspended(|| read_answer(question)).await?;
    Some(line.trim().to_owned())
}

/// Asks a question to which nothing but a plain yes is a yes: a letter alone is not, for the answer lasts, and the question may
/// come while something else is typed. `whole`: what is shown on demand.
pub async fn says_yes(view: &TerminalView, text: &str, title: &str, whole: Option<&str>) -> bool {
    let choices = Choices { view: whole.is_some(), ..Choices::default() };
    let mut text = text;
    loop {
        match answer(view, text, consent(choices, title), false).await {
            Some(Answer::View) => text = whole.unwrap_or_default(),
            answer => return answer == Some(Answer::Yes),
        }
    }
}

fn consent(choices: Choices, title: &str) -> Menu<Answer> {
    let mut rows = vec![
        Choice::new("", "yes (y and Enter)", Some("yes"), Answer::Yes),
        Choice::new("nн", "no", Some("no"), Answer::No(None)),
    ];
    rows.extend(choices.view.then(|| Choice::new("v", "view all", None, Answer::View)));
    let more = if choices.view { ", v = view all" } else { "" };
    Menu {
        title: title.to_owned(),
        is_headed: true,
        choices: rows,
        first: None,
        hint: "Enter, arrows or a letter; Esc = no".to_owned(),
        legend: format!("{title}  y = yes, n = no{more}: "),
        reminder: choices.reminder(),
        parse: Box::new(move |line| choices.parse(line)),
        refuse: |_| Answer::No(None),
        reason: |_| None,
    }
}

/// One answer of a few: its letter, its words, and what it means.
pub(crate) type Way<A> = (&'static str, &'static str, A);

/// Asks for one of a few; `None` if it is none of them, which is selected first. `none`: the letter of that, and its words. `legend`: all of it in words, for a terminal that gives lines.
pub(crate) async fn chooses<A>(
    view: &TerminalView,
    title: &str,
    ways: Vec<Way<A>>,
    none: (&'static str, &'static str),
    legend: &str,
) -> Option<A>
where
    A: Clone + PartialEq + Send + Sync + 'static,
{
    answer(view, "", one_of(title, ways, none, legend), false).await.flatten()
}

fn one_of<A>(
    title: &str,
    ways: Vec<Way<A>>,
    none: (&'static str, &'static str),
    legend: &str,
) -> Menu<Option<A>>
where
    A: Clone + PartialEq + Send + Sync + 'static,
{
    let choice =
        |(letter, words, answer): &Way<A>| Choice::new(letter, *words, Some(*words), Some(answer.clone()));
    let mut choices: Vec<Choice<Option<A>>> = ways.iter().map(choice).collect();
    choices.push(Choice::new(none.0, none.1, Some(none.1), None));
    let letters: Vec<&str> = choices.iter().map(|choice| choice.letters).collect();
    let reminder = format!("  please answer {}: ", letters.join(", "));
    let read = choices.clone();
    let parse = move |line: &str| match line.trim() {
        "" => Some(None),
        letter => read.iter().find(|choice| choice.letters == letter).map(|choice| choice.answer.clone()),
    };
    Menu {
        title: title.to_owned(),
        is_headed: true,
        first: None,
        choices,
        hint: format!("Enter, arrows or a letter; Esc = {}", none.1),
        legend: format!("{title} ({legend}) "),
        reminder,
        parse: Box::new(parse),
        refuse: |_| None,
        reason: |_| None,
    }
}
