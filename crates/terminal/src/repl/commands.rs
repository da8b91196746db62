//! The commands. Each reports its problems as a failure, and the REPL continues.

mod again;
mod ensembles;
mod handed;
mod mode;
mod model;
mod model_picker;
mod picking;
mod resume;
mod rewind;
mod sessions;
mod shell;
mod tools;
mod used;

use std::collections::HashSet;

use converse_canister::{Canister, Content};
use converse_config::Permission;

use super::session::{ReplSession, Then};
use super::slash::{ROWS, Row, Slash, named, parse};
use super::turn::Words;
use converse_host::attach::{PromptRequest, UserInput};
use converse_host::failure::Failure;
use converse_project::{Command, Origin};
use converse_text::wording::grouped;
use converse_text::{safe, safe_line};

/// Maximum characters of a command of a file, and of what is said about it.
const USAGE: usize = 60;
const ABOUT: usize = 160;

const KEYS: &str = "\
Enter sends; Alt-Enter, Ctrl-J or a \\ at the end starts a new line; \"\"\" opens and closes a block.
Tab completes; Up and Ctrl-R search the history; Ctrl-O opens $EDITOR; @FILE in a message attaches the file.
Ctrl-V attaches the picture of the clipboard; a file of a picture that is dropped here is attached too.
Shift-Tab switches the permission mode: ask, read-only, accept-edits.
While a turn runs, Enter queues a message, Up takes it back, and Ctrl-S sends it to the turn.
Esc or Ctrl-C cancels a turn; Esc twice on an empty line goes back to an earlier message, as /rewind does.
Ctrl-C clears the line; twice on an empty line, or Ctrl-D, quits.
!COMMAND runs a command in the project; its output goes with the next message.
/ENSEMBLE.PROMPT key=value … uses a prompt of an MCP server; //… sends a line that begins with a slash.";

/// What `/init` asks for.
const INIT: &str = "\
Look at this project with your tools for files: its README, its build and test configuration, its directories and a few \
source files. Then write a file AGENTS.md in the working directory, with instructions for coding agents that work here. \
Say how to build, how to run all tests and a single one, and how to check style; the structure of the code as far as it \
is not obvious; conventions that differ from common practice. State only what you have read. Write at most 60 lines of \
Markdown, without generic advice. If AGENTS.md exists by then, do not replace it.";

impl ReplSession<'_> {
    /// Does what a line says.
    pub(super) async fn does(&mut self, line: &str) -> Result<Then, Failure> {
        if let Some((command, arguments)) = self.of_file(line) {
            self.sends(&command, &arguments).await?;
            return Ok(Then::GoesOn);
        }
        let parsed = match parse(line) {
            // As it was written; what a command shows again is escaped.
            text @ Slash::Text(_) => text,
            _ => parse(&safe(line)),
        };
        if parsed.needs_tools() {
            self.await_servers_first().await?;
        }
        match parsed {
            Slash::Nothing => {}
            Slash::Text(words) => self.says(&words, None).await?,
            Slash::Shell(command) => self.shell(&command).await?,
            Slash::Wrong(told) => self.view.say(&told),
            Slash::Help(row) => self.help(row),
            Slash::Model(id) => self.model(id.as_deref()).await?,
            Slash::System(text) => self.system(text.as_deref())?,
            Slash::Ensembles(names) => self.ensembles(&names).await?,
            Slash::Tools(pattern) => self.tools(pattern.as_deref()),
            Slash::Allow(pattern) => self.permit(pattern.as_deref(), Permission::Allow)?,
            Slash::Deny(pattern) => self.permit(pattern.as_deref(), Permission::Deny)?,
            Slash::Mode(name) => self.mode(name.as_deref())?,
            Slash::Usage => self.usage(),
            Slash::Init => self.init().await?,
            Slash::Cost => self.cost(),
            Slash::Compact(focus) => self.compact(focus.as_deref()).await?,
            Slash::Undo(turns) => self.undo(turns, &HashSet::new())?,
            Slash::Rewind => self.go_back().await?,
            Slash::Retry => self.retry().await?,
            Slash::Edit => self.edit().await?,
            Slash::Fork(message) => self.fork(message)?,
            Slash::Save(name) => self.save(name.as_deref())?,
            Slash::Sessions(words) => self.resume(words.as_deref().unwrap_or_default()).await?,
            Slash::Transcript => self.transcript().await?,
            Slash::Attach(named) => self.attach(&named).await?,
            Slash::Editor => self.compose().await?,
            Slash::Copy(back) => self.copy(back).await?,
            Slash::Reasoning(on) => self.reasoning(on),
            Slash::Clear => self.clear(),
            Slash::Show(number) => self.show(number)?,
            Slash::Export(file) => self.export(&file)?,
            Slash::Prompt { named, words } => self.prompt(&named, &words).await?,
            Slash::Quit => return Ok(Then::Leaves),
        }
        Ok(Then::GoesOn)
    }

    /// `/help`: what can be typed.
    fn help(&self, row: Option<&Row>) {
        if let Some(row) = row {
            self.view.say(&format!("/{}\n  {}", row.usage(), row.help));
            return;
        }
        let rows = ROWS.iter().map(|row| vec![format!("/{}", row.usage()), row.help.to_owned()]);
        let own = self.own_commands().map(|command| {
            let usage = format!("/{} {}", command.name, command.hint);
            let about = format!("{} ({})", command.description, whose(command));
            vec![safe_line(usage.trim_end(), USAGE), safe_line(&about, ABOUT)]
        });
        let rows: Vec<Vec<String>> = rows.chain(own).collect();
        self.view.say(&format!("{}\n{KEYS}", self.view.table(&rows)));
    }

    /// The commands and skills of files. Names of built-in commands mean those.
    pub(super) fn own_commands(&self) -> impl Iterator<Item = &Command> {
        self.options.instructions.all_commands().into_iter().filter(|command| named(&command.name).is_none())
    }

    /// The command of a file that a line names, and its arguments.
    fn of_file(&self, line: &str) -> Option<(Command, String)> {
        let (command, arguments) = self.options.instructions.named_by(line)?;
        named(&command.name).is_none().then(|| (command.clone(), arguments.to_owned()))
    }

    /// Sends the text of a command. Files that the text of a project names are attached only if they are in the project.
    async fn sends(&mut self, command: &Command, arguments: &str) -> Result<(), Failure> {
        let message = command.message(arguments);
        let bytes = grouped(message.len() as u64);
        self.view.note(&format!("/{}: {}, {bytes} bytes", command.name, safe_line(&command.path, ABOUT)));
        let foreign = (command.origin == Origin::Project).then(|| command.text());
        self.says(&message, foreign).await
    }

    /// Asks the model to write instructions for the project. What is there already is not replaced.
    async fn init(&mut self) -> Result<(), Failure> {
        let path = self.world.cwd.join("AGENTS.md");
        if path.symlink_metadata().is_ok() {
            return Err(Failure::usage(
                "exists",
                "AGENTS.md exists: ask for the changes that you want in it",
            ));
        }
        self.view.note("the model looks at the project and writes AGENTS.md; `/undo` takes the request back");
        let said = self.handed_over(INIT.to_owned(), Vec::new()).await?;
        self.turn(Words::UserInput(Box::new(said))).await
    }

    /// A prompt of a server, with what is attached.
    async fn prompt(&mut self, named: &str, words: &[String]) -> Result<(), Failure> {
        let asked = UserInput::default().with_prompt(PromptRequest::parse(named, words)?);
        let said = self.waiting.clone().and(asked)?;
        self.turn(Words::UserInput(Box::new(said))).await
    }
}

/// Whose command it is.
pub(super) fn whose(command: &Command) -> &'static str {
    if command.origin == Origin::User { "yours" } else { "of the project" }
}

/// The user's last words, and the last answer to them.
fn last_exchange(canisters: &[Canister]) -> (Option<String>, Option<String>) {
    let place = canisters.iter().rposition(|one| matches!(one, Canister::User(_)));
    let Some((Canister::User(user), rest)) = place.and_then(|place| canisters.get(place..)?.split_first())
    else {
        return (None, None);
    };
    let asked: Vec<&str> = user.content.iter().filter_map(Content::as_text).collect();
    (Some(asked.join(" ")), handed::answers(rest).next())
}
