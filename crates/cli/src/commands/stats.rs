//! `converse stats`: what was used, from the sessions that are kept. Reads journals one after the other, and only reads.

mod zone;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use converse_session::stats::{Figures, Folding, Pattern, Wanted};
use converse_session::{SessionError, Store, Uuid};
use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::args::{StatsArgs, StatsBy};
use converse_host::failure::{Failure, Kind};
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::stats::{Look, Period, html, json, text};
use converse_text::safe;

use zone::Zone;

pub(crate) fn run(args: &StatsArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let zone = Zone::of(world);
    let today = zone.zone.to_datetime(World::now()).date();
    let since = since(args, today)?;
    let figures = figures(args, &zone, since, console, world)?;
    let period = Period { since, until: today, zone: zone.name };
    if args.json {
        let mut object = json(&figures, &period);
        console.context.redactor.clean_json(&mut object);
        return Ok(write_json(&object)?);
    }
    if args.html {
        let page = html(&figures, &period, |name| console.context.redactor.clean(name));
        return page_to(args, &page, console, world);
    }
    if figures.is_empty() {
        console.note(nothing(args));
        return Ok(());
    }
    let shown = text(&figures, &period, args.by.map(StatsBy::table), &Look::of(console, world), |name| {
        console.context.redactor.clean(name)
    });
    Ok(write_stdout(&shown)?)
}

fn since(args: &StatsArgs, today: Date) -> Result<Option<Date>, Failure> {
    let back = args.days.map(|days| today.checked_sub(i64::from(days.saturating_sub(1)).days()));
    let back = back.transpose().map_err(|_| Failure::usage("bad-days", "there were not so many days"))?;
    Ok(back.or(args.since))
}

fn nothing(args: &StatsArgs) -> &'static str {
    let narrowed =
        args.days.is_some() || args.since.is_some() || args.model.is_some() || args.session.is_some();
    if narrowed {
        "nothing of that was used; without `--days`, `--since`, `--model` and `--session` all sessions are counted"
    } else {
        "no sessions yet, so there is nothing to count: `converse ask \"a question\"` begins one"
    }
}

fn figures(
    args: &StatsArgs,
    zone: &Zone,
    since: Option<Date>,
    console: &Console,
    world: &World,
) -> Result<Figures, Failure> {
    let (model, tool) = (args.model.as_deref().map(Pattern::new), args.tool.as_deref().map(tool));
    let mut folding = Folding::new(Wanted { zone: zone.zone.clone(), since, model, tool });
    // Without a home there are none.
    let Some(store) = sessions::store(world) else { return Ok(folding.figures()) };
    for id in chosen(&store, args)? {
        let mut journal = folding.journal();
        let walked = store.walk(id, |header, entry| journal.line(header, entry));
        journal.end();
        match walked {
            // It never came to hold anything.
            Ok(()) | Err(SessionError::Empty { .. } | SessionError::NotFound(_)) => {}
            Err(error) => {
                console.warn(&format!(
                    "warning: session {id} is counted only as far as it can be read: {error}"
                ));
                folding.unreadable(id.to_string(), error.to_string());
            }
        }
    }
    Ok(folding.figures())
}

/// As in rules: the name of an ensemble is all that is in it.
fn tool(pattern: &str) -> Pattern {
    if pattern.contains(['.', '*', '?']) {
        Pattern::new(pattern)
    } else {
        Pattern::new(&format!("{pattern}.*"))
    }
}

fn chosen(store: &Store, args: &StatsArgs) -> Result<Vec<Uuid>, Failure> {
    let found = match args.session.as_deref() {
        None => store.all(),
        Some(text) => store.resolve(text).map(|id| vec![id]),
    };
    Ok(found?)
}

fn page_to(args: &StatsArgs, page: &str, console: &Console, world: &World) -> Result<(), Failure> {
    let Some(file) = &args.output else {
        return Ok(write_stdout(if world.stdout_tty { safe(page) } else { page.into() }.as_ref())?);
    };
    write(&world.cwd.join(file), page, args.force)?;
    console.note(&format!("the figures are written to {}", file.display()));
    Ok(())
}

/// For the owner's eyes, until it is handed on.
fn write(path: &Path, page: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| {
        let failure = Failure::new(Kind::Output, "stats-not-written", format!("{}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure { kind: Kind::Usage, ..failure }.hint("`--force` replaces it")
            }
            _ => failure,
        }
    })
}
