//! "Always, where …": asks which texts of a call may vary and how, and shows what would be kept before it is.

use converse_config::{ArgumentPattern, ArgumentPatterns};
use converse_ensemble::Pending;
use converse_screen::{Line, Tone};

use super::TerminalApprover;
use super::answers::{Answer, Choices};
use super::question::{flowing, painted};
use super::reading::read_answer;
use super::shown::{self, Much};
use super::typed::varying;
use super::visible::visible;
use converse_host::approvals::{MAX_ARGUMENTS, Memory, fixed, written};
use converse_text::safe_line;

/// Lines that say nothing that can be kept, after which it is asked as before.
const MOST_TRIES: usize = 20;

/// What can be typed; numbers only where there are proposals.
fn how(proposals: &[(String, ArgumentPattern)]) -> &'static str {
    match proposals {
        [] => "NAME=PATTERN for each text that may vary; nothing = back: ",
        _ => "NAME=PATTERN for each text that may vary, or numbers of the proposals; nothing = back: ",
    }
}

impl TerminalApprover {
    /// How the texts of a call may vary from now on; `None`: back to the question.
    pub(super) async fn patterned(&self, pending: &Pending) -> Option<ArgumentPatterns> {
        let memory = self.memory.as_ref()?;
        let proposals = memory.proposals(pending);
        let mut text = self.asking(&proposals);
        for _ in 0..MOST_TRIES {
            let line = self.progress.suspended(|| read_answer(text.clone())).await?;
            if line.trim().is_empty() {
                return None;
            }
            match judged(memory, pending, &proposals, &line) {
                Err(why) => {
                    let why = memory.redactor.clean(&visible(&why, false));
                    text = flowing(&format!("not kept: {why}\n{}", how(&proposals)));
                }
                Ok(varying) => {
                    let question = self.kept_so(pending, &varying);
                    let line = self.progress.suspended(|| read_answer(question)).await?;
                    if Choices::default().parse(&line) == Some(Answer::Yes) {
                        return Some(varying);
                    }
                    text = flowing(how(&proposals));
                }
            }
        }
        None
    }

    fn asking(&self, proposals: &[(String, ArgumentPattern)]) -> String {
        let rules = "which texts may vary, and how? `*` stops at a slash and at a blank, `**` at a blank only; a `*` as \
                   the last of several words is any further words, and as all there is any text. What is not named \
                   stays as it is.\n";
        let row = |(number, (name, vary)): (usize, &(String, ArgumentPattern))| {
            Line::plain(&format!("  {number}  {}", pair(name, vary)))
        };
        let rows: Vec<Line> = (1..).zip(proposals).map(row).collect();
        flowing(rules) + &painted(&rows, &self.look()) + &flowing(how(proposals))
    }

    /// All of it, as it would be kept.
    fn kept_so(&self, pending: &Pending, varying: &ArgumentPatterns) -> String {
        let mut lines =
            vec![Line::new(), Line::toned(Tone::Strong, &format!("always allow {}, where", pending.tool()))];
        for (name, vary) in varying {
            lines.push(Line::plain(&format!("  {}", pair(name, vary))));
            let meaning = flowing(&format!("({})", vary.meaning()));
            lines.extend(meaning.lines().map(|line| Line::toned(Tone::Dim, line)));
        }
        let (fixed, look) = (fixed(pending, varying), self.look());
        if !fixed.is_empty() {
            lines.push(Line::toned(Tone::Strong, "and the rest is just as now:"));
            lines.extend(shown::arguments(&fixed, &look, Much::All).0);
        }
        let place = if pending.binding().local { "in this directory" } else { "wherever converse runs" };
        let end = format!(
            "It counts {place}, while the tool is what it is now.\ny = yes, and keep it; n = no, back: "
        );
        painted(&lines, &look) + &flowing(&end)
    }
}

fn pair(name: &str, vary: &ArgumentPattern) -> String {
    format!("{}={}", safe_line(name, 200), visible(vary.text(), false))
}

/// What a line says, if that can be kept and is about this very call.
fn judged(
    memory: &Memory,
    pending: &Pending,
    proposals: &[(String, ArgumentPattern)],
    line: &str,
) -> Result<ArgumentPatterns, String> {
    if memory.redactor.clean(line) != line {
        return Err("it contains a secret".to_owned());
    }
    let varying = varying(line, pending.arguments(), proposals)?;
    let fixed = fixed(pending, &varying);
    if fixed.is_empty() && varying.values().all(ArgumentPattern::is_any) {
        return Err("that is the tool whatever its arguments; go back and answer t if you mean it".to_owned());
    }
    if written(&fixed).len() > MAX_ARGUMENTS {
        return Err("what is not named is too long to be kept".to_owned());
    }
    let alone = |(name, vary): (&String, &ArgumentPattern)| {
        let one = [(name.clone(), vary.clone())].into();
        (!memory.covers(pending, &one)).then(|| name.clone())
    };
    match varying.iter().find_map(alone) {
        Some(name) => Err(format!("this call does not match: {name} does not match the pattern")),
        None if memory.covers(pending, &varying) => Ok(varying),
        None => Err("this call does not match the patterns".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_asked_for_only_where_there_are_some() {
        let one = [("path".to_owned(), ArgumentPattern::new("path", "src/**").unwrap())];
        for (proposals, speaks) in [(&[][..], false), (&one, true)] {
            let how = how(proposals);
            assert_eq!(how.contains("numbers"), speaks);
            assert!(how.starts_with("NAME=PATTERN") && how.ends_with("nothing = back: "));
        }
    }
}
