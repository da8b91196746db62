//! `converse stats`: usage, from the kept sessions. Reads one journal after the other.

use converse_session::stats::{Figures, Folding, Pattern, StatsFilter};
use converse_session::{Store, Uuid, Zone};
use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::args::{StatsArgs, StatsBy};
use converse_host::failure::Failure;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_private, write_stdout};
use converse_terminal::render::stats::{Look, Period, html, json, text};
use converse_text::safe;

pub(crate) fn run(args: &StatsArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let zone = Zone::local(world.var("TZ"));
    let today = zone.zone.to_datetime(World::now()).date();
    let since = since(args, today)?;
    let figures = figures(args, &zone, since, console, world)?;
    let period = Period { since, until: today, zone: zone.name };
    if args.json {
        return Ok(console.print_json(json(&figures, &period))?);
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
    let back = back.transpose().map_err(|_| Failure::usage("bad-days", "the number of days is too large"))?;
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
    let mut folding = Folding::new(StatsFilter { zone: zone.zone.clone(), since, until: None, model, tool });
    // Without a home there are no sessions.
    let Some(store) = sessions::store(world) else { return Ok(folding.figures()) };
    for id in chosen(&store, args)? {
        if let Err(error) = folding.read(&store, id) {
            console.warn(&format!("warning: session {id} is counted only as far as it can be read: {error}"));
        }
    }
    Ok(folding.figures())
}

/// As in rules, the name of an ensemble means all of its tools.
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
    write_private(
        &world.cwd.join(file),
        |out| out.write_all(page.as_bytes()),
        args.force,
        "stats-not-written",
    )?;
    console.note(&format!("the figures are written to {}", file.display()));
    Ok(())
}
