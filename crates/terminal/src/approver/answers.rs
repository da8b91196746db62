//! What an answer means. Anything that is not plain is asked again: an approval is never guessed.

use std::collections::BTreeSet;

use converse_host::approvals::{Offered, Reach};

use super::menu::{Choice, Menu};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    /// Yes, and from now on.
    Further(Reach),
    No(Option<String>),
    /// Show it all.
    View,
    /// Let me write other arguments.
    Edit,
}

/// What may be answered beside yes and no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Choices {
    pub(super) offered: Offered,
    pub(super) edit: bool,
    pub(super) view: bool,
}

const FURTHER: [(&str, Reach); 4] =
    [("a", Reach::Arguments), ("p", Reach::Pattern), ("t", Reach::Tool), ("r", Reach::Run)];

impl Choices {
    /// `y`, `n`, `n` with a word to the model, or a letter that was offered.
    pub(super) fn parse(self, line: &str) -> Option<Answer> {
        let (word, rest) = words(line);
        match (word.as_str(), rest) {
            ("y" | "yes" | "д" | "да", None) => Some(Answer::Yes),
            ("n" | "no" | "н" | "нет", comment) => Some(Answer::No(comment)),
            ("v", None) if self.view => Some(Answer::View),
            ("e", None) if self.edit => Some(Answer::Edit),
            (key, None) => {
                let known = FURTHER.iter().find(|(letter, reach)| *letter == key && self.offered.has(*reach));
                known.map(|(_, reach)| Answer::Further(*reach))
            }
            _ => None,
        }
    }

    /// What each letter is for; `tool` is what a yes that is kept would be for.
    fn legend(self, tool: &str) -> String {
        let mut text = "  y = yes, n = no, n WHY = no, and tell the model why".to_owned();
        let more = [(self.view, "v = view all"), (self.edit, "e = edit the arguments")];
        more.iter().filter(|(set, _)| *set).for_each(|(_, words)| text.push_str(&format!(", {words}")));
        let further =
            FURTHER.iter().filter(|(_, reach)| self.offered.has(*reach)).map(|(key, reach)| match reach {
                Reach::Arguments => format!("{key} = always, {tool} with just these arguments"),
                Reach::Pattern => format!("{key} = always, {tool} where a pattern fits"),
                Reach::Tool => format!("{key} = always, {tool} whatever its arguments"),
                Reach::Run => format!("{key} = {tool} for the rest of this run"),
            });
        let further: Vec<String> = further.collect();
        if further.is_empty() { text + ": " } else { format!("{text}\n  {}: ", further.join("\n  ")) }
    }

    /// The options to a question with this title, from once to always.
    pub(super) fn menu(self, title: String, tool: &str) -> Menu<Answer> {
        let mut choices = vec![
            Choice::new("yд", format!("yes, run {tool}"), Some("yes"), Answer::Yes),
            Choice::new("nн", "no", Some("no"), Answer::No(None)),
        ];
        choices.extend(self.view.then(|| Choice::new("v", "view all", None, Answer::View)));
        choices.extend(self.edit.then(|| Choice::new("e", "edit the arguments", None, Answer::Edit)));
        let offered = FURTHER.iter().filter(|(_, reach)| self.offered.has(*reach));
        choices.extend(offered.map(|(letter, reach)| {
            let label = match reach {
                Reach::Arguments => "always, with just these arguments",
                Reach::Pattern => "always, where a pattern fits",
                Reach::Tool => "always, whatever its arguments",
                Reach::Run => "yes, for the rest of this run",
            };
            Choice::new(letter, label, Some(label), Answer::Further(*reach))
        }));
        Menu {
            title,
            is_headed: false,
            choices,
            first: None,
            hint: hint("", "no"),
            legend: self.legend(tool),
            reminder: self.reminder(),
            parse: Box::new(move |line| self.parse(line)),
            refuse: Answer::No,
            reason: |answer| if let Answer::No(reason) = answer { reason.as_deref() } else { None },
        }
    }

    pub(super) fn reminder(self) -> String {
        let more =
            [(self.view, "v"), (self.edit, "e")].into_iter().filter(|(set, _)| *set).map(|(_, key)| key);
        let further = FURTHER.iter().filter(|(_, reach)| self.offered.has(*reach)).map(|(key, _)| *key);
        let keys: String = more.chain(further).map(|key| format!(", {key}")).collect();
        format!("  please answer y or n{keys}: ")
    }
}

/// To a question about several calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chosen {
    /// By their places; the others are refused.
    These(BTreeSet<usize>),
    None(Option<String>),
    OneByOne,
    View,
}

pub(super) const SEVERAL: &str = "y = all of them, n = none, n WHY = none, and tell the model why, 1,3 = only these, o = one by one, v = view all";
const SEVERAL_REMINDER: &str = "  please answer y, n, numbers such as 1,3, o or v: ";

/// The options to a question with this title about so many calls.
pub(super) fn several(title: String, count: usize) -> Menu<Chosen> {
    Menu {
        title,
        is_headed: false,
        choices: vec![
            Choice::new("yд", "all of them", Some("all of them"), Chosen::These((0..count).collect())),
            Choice::new("nн", "none", Some("none"), Chosen::None(None)),
            Choice::new("o", "one by one", Some("one by one"), Chosen::OneByOne),
            Choice::new("v", "view all", None, Chosen::View),
        ],
        first: None,
        hint: hint("1,3 = these; ", "none"),
        legend: format!("{SEVERAL}: "),
        reminder: SEVERAL_REMINDER.to_owned(),
        parse: Box::new(move |line| chosen(line, count)),
        refuse: Chosen::None,
        reason: |answer| if let Chosen::None(reason) = answer { reason.as_deref() } else { None },
    }
}

fn hint(more: &str, no: &str) -> String {
    format!("Enter, arrows or a letter; {more}Esc = {no}; words = {no}, and why")
}

fn chosen(line: &str, count: usize) -> Option<Chosen> {
    let (word, rest) = words(line);
    match (word.as_str(), rest) {
        ("y" | "yes" | "д" | "да", None) => Some(Chosen::These((0..count).collect())),
        ("n" | "no" | "н" | "нет", comment) => Some(Chosen::None(comment)),
        ("o", None) => Some(Chosen::OneByOne),
        ("v", None) => Some(Chosen::View),
        _ => numbers(line, count).map(Chosen::These),
    }
}

/// `1,3` or `1 3`; one that is not there makes all of it unclear.
pub(super) fn numbers(line: &str, count: usize) -> Option<BTreeSet<usize>> {
    let parts = line.split([',', ' ', '\t', '\n', '\r']).filter(|part| !part.is_empty());
    let place = |part: &str| -> Option<usize> {
        let number = Some(part).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
        number.parse::<usize>().ok().filter(|number| (1..=count).contains(number)).map(|number| number - 1)
    };
    let numbers: Option<BTreeSet<usize>> = parts.map(place).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

fn words(line: &str) -> (String, Option<String>) {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word.to_lowercase(), Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Choices = Choices {
        offered: Offered { arguments: true, pattern: true, tool: true, run: true },
        edit: true,
        view: true,
    };

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for choices in [ALL, Choices::default()] {
            let parse = |line| choices.parse(line);
            assert_eq!(parse("y\n"), Some(Answer::Yes));
            assert_eq!(parse(" Да "), Some(Answer::Yes));
            assert_eq!(parse("n"), Some(Answer::No(None)));
            assert_eq!(
                parse("no use the other file"),
                Some(Answer::No(Some("use the other file".to_owned())))
            );
            for unclear in ["", "yy", "y and n", "maybe", "\x1b[A", "a b", "always", "tt", "r.", "e x", "1"] {
                assert_eq!(parse(unclear), None, "{unclear:?}");
            }
        }
    }

    #[test]
    fn only_what_was_offered_is_taken() {
        let further =
            [("a", Reach::Arguments), ("p", Reach::Pattern), (" T\n", Reach::Tool), ("r", Reach::Run)];
        let further = further.map(|(line, reach)| (line, Answer::Further(reach)));
        for (line, answer) in further.into_iter().chain([("v", Answer::View), ("e", Answer::Edit)]) {
            assert_eq!(ALL.parse(line), Some(answer));
            assert_eq!(Choices::default().parse(line), None);
        }
        let run = Choices { offered: Offered { run: true, ..Offered::default() }, ..Choices::default() };
        assert!(
            run.parse("a").is_none()
                && run.parse("p").is_none()
                && run.parse("t").is_none()
                && run.parse("r").is_some()
        );
        assert_eq!(ALL.reminder(), "  please answer y or n, v, e, a, p, t, r: ");
        assert_eq!(run.reminder(), "  please answer y or n, r: ");
        assert!(run.legend("io.x").ends_with("\n  r = io.x for the rest of this run: "));
    }

    #[test]
    fn of_several_only_those_that_are_named() {
        let these = |places: &[usize]| Some(Chosen::These(places.iter().copied().collect()));
        for (line, answer) in [
            ("y\n", these(&[0, 1, 2])),
            ("1,3", these(&[0, 2])),
            (" 3 , 1 ", these(&[0, 2])),
            ("2", these(&[1])),
            ("n", Some(Chosen::None(None))),
            ("n not now", Some(Chosen::None(Some("not now".to_owned())))),
            ("o", Some(Chosen::OneByOne)),
            ("v", Some(Chosen::View)),
            ("0", None),
            ("4", None),
            ("1,4", None),
            ("1,", these(&[0])),
            ("+1", None),
            ("-1", None),
            ("1-3", None),
            ("y 1", None),
            ("", None),
            (",", None),
            ("a", None),
        ] {
            assert_eq!(chosen(line, 3), answer, "{line:?}");
        }
    }
}
