//! Commands of the user and of a project: Markdown files whose text is sent as a message.

use crate::front_matter::{Field, split};
use crate::instructions::Origin;
use crate::problem::{Place, Problem, ProblemKind};

/// Keys of a command. Others have no effect.
const KEYS: [&str; 2] = ["description", "argument-hint"];
/// Limit on the characters of a name.
const MAX_NAME: usize = 64;

/// A command: `/name arguments` sends its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub origin: Origin,
    pub name: String,
    /// The path relative to the working directory. Of a user's file: relative to the settings.
    pub path: String,
    /// From the front matter, else the first line of the text.
    pub description: String,
    /// What the front matter says about arguments (`argument-hint`).
    pub hint: String,
    /// The whole file, as it is trusted.
    pub file: String,
}

impl Command {
    /// Reads a command. Its name is the path below the directory of commands without `.md`, with `:` for `/`.
    ///
    /// # Errors
    ///
    /// The first problem is why it is not used; others are warnings.
    pub(crate) fn read(
        origin: Origin,
        path: &str,
        name: &str,
        file: String,
    ) -> (Result<Self, Problem>, Vec<Problem>) {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let name = name.replace('/', ":");
        if name.len() > MAX_NAME || name.split(':').any(|part| part.is_empty() || !part.chars().all(fits)) {
            let message = format!(
                "expected a name of at most {MAX_NAME} lower-case letters, digits, `-` and `_`, found `{name}`"
            );
            return (Err(Problem::error(ProblemKind::BadName, Place::TOP, message)), Vec::new());
        }
        let parts = match split(&file) {
            Ok(parts) => parts,
            Err(problem) => return (Err(problem), Vec::new()),
        };
        let fields = parts.fields.unwrap_or_default();
        let warnings = fields.iter().filter_map(|field| odd(field, &KEYS, "commands")).collect();
        let body = parts.body.trim();
        if body.is_empty() {
            let problem = Problem::error(ProblemKind::MissingKey, Place::TOP, "the command has no text");
            return (Err(problem), warnings);
        }
        let first_line = || body.lines().next().unwrap_or_default().to_owned();
        let description = value(&fields, "description").unwrap_or_else(first_line);
        let hint = value(&fields, "argument-hint").unwrap_or_default();
        (Ok(Self { origin, name, path: path.to_owned(), description, hint, file }), warnings)
    }

    /// Returns the text below the front matter.
    pub fn text(&self) -> &str {
        split(&self.file).map_or(self.file.as_str(), |parts| parts.body).trim()
    }

    /// Returns the message: `$ARGUMENTS` stands for all arguments, `$1` to `$9` for one. If the text has none of them, the
    /// arguments follow it.
    pub fn message(&self, arguments: &str) -> String {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let (mut message, mut rest, mut is_used) = (String::new(), self.text(), false);
        // What is filled in is not looked at again.
        while let Some((before, after)) = rest.split_once('$') {
            message.push_str(before);
            let digit = after.chars().next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0);
            if let Some(after) = after.strip_prefix("ARGUMENTS") {
                message.push_str(arguments);
                (rest, is_used) = (after, true);
            } else if let Some(digit) = digit {
                message.push_str(words.get(digit as usize - 1).copied().unwrap_or_default());
                (rest, is_used) = (after.get(1..).unwrap_or_default(), true);
            } else {
                message.push('$');
                rest = after;
            }
        }
        message.push_str(rest);
        if !is_used && !arguments.is_empty() {
            message.push_str(&format!("\n\n{arguments}"));
        }
        message
    }
}

/// Returns the text of a key, if it is a text and not blank.
pub(crate) fn value(fields: &[Field], name: &str) -> Option<String> {
    let field = fields.iter().find(|field| field.name == name)?;
    field.value.as_ref().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Returns a warning about a key that is unknown, or a known text that is none.
pub(crate) fn odd(field: &Field, known: &[&str], of: &str) -> Option<Problem> {
    let Field { name, value, place } = field;
    if !known.contains(&name.as_str()) {
        let message = format!("unknown key `{name}`: it has no effect in {of}");
        return Some(Problem::warning(ProblemKind::UnknownKey, *place, message));
    }
    let is_text = value.is_some() || ["metadata", "allowed-tools"].contains(&name.as_str());
    let told = || format!("`{name}`: expected a text, in quotes if it begins with `[` or `{{`");
    (!is_text).then(|| Problem::warning(ProblemKind::BadValue, *place, told()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(file: &str) -> Result<Command, Problem> {
        Command::read(Origin::User, "x.md", "x", file.into()).0
    }

    #[test]
    fn arguments_are_filled_in_once() {
        for (text, arguments, message) in [
            ("Review $1 for $2.", "a.rs bugs", "Review a.rs for bugs."),
            ("Review $1 for $2.", "a.rs", "Review a.rs for ."),
            ("Say: $ARGUMENTS!", "$1 $ARGUMENTS", "Say: $1 $ARGUMENTS!"),
            ("Costs $5.00 or $x or $", "a", "Costs .00 or $x or $"),
            ("Do it.", "with care", "Do it.\n\nwith care"),
            ("Do it.", "", "Do it."),
            ("---\ndescription: d\n---\n\nDo it.\n", "", "Do it."),
            ("$0 ü$1", "я", "$0 üя"),
        ] {
            assert_eq!(command(text).unwrap().message(arguments), message, "{text}");
        }
    }

    #[test]
    fn a_command_says_what_it_is_for() {
        let one = command("---\ndescription: Reviews\nargument-hint: FILE\n---\nReview.").unwrap();
        assert_eq!((one.description.as_str(), one.hint.as_str()), ("Reviews", "FILE"));
        assert_eq!(command("First.\nSecond.").unwrap().description, "First.");
        assert!(command("---\na: b\n---\n \n").unwrap_err().message.contains("no text"));
        assert!(command("---\na: b").unwrap_err().message.contains("no end"));
        for name in ["", "A", "a.b", "a b", "ä", "a//b", "/a", &"a".repeat(65)] {
            let (read, _) = Command::read(Origin::User, "x.md", name, "x".into());
            assert_eq!(read.unwrap_err().kind, ProblemKind::BadName, "{name}");
        }
        let (read, _) = Command::read(Origin::User, "x.md", "video/qa", "x".into());
        assert_eq!(read.unwrap().name, "video:qa");
    }

    #[test]
    fn keys_without_an_effect_are_told() {
        let file = "---\nargument-hint: [a]\nmodel: x\n---\nText.";
        let (read, warnings) = Command::read(Origin::User, "x.md", "x", file.into());
        assert_eq!(read.unwrap().hint, "");
        let told: Vec<_> = warnings.iter().map(|one| (one.place.line, one.kind, one.is_error)).collect();
        assert_eq!(told, [(2, ProblemKind::BadValue, false), (3, ProblemKind::UnknownKey, false)]);
    }
}
