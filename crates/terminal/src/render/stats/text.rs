//! Tables for a terminal.

use converse_canister::Cost;
use converse_session::stats::{Calls, Figures, Spent};

use super::cells;
pub use super::chart::Look;
use super::chart::{Chart, Column, Row};
use super::number::{dollars, fee, percent, price, short};
use super::{Period, Table};
use crate::console::Console;
use crate::render::output;
use crate::view::speaks_unicode;
use converse_host::world::World;
use converse_text::safe_line;

/// Rows of each of the three tables, when all are shown.
const MOST_ROWS: usize = 14;
const NARROWEST: usize = 40;
const WIDEST: usize = 120;

impl Look {
    pub fn of(console: &Console, world: &World) -> Self {
        let told = world.var("COLUMNS").and_then(|columns| columns.parse().ok());
        let terminal = world.stdout_tty.then(|| output::columns(std::io::stdout())).flatten();
        let columns = terminal.or(told).unwrap_or(80).clamp(NARROWEST, WIDEST);
        Self { columns, unicode: speaks_unicode(world), colour: console.style.colour }
    }
}

/// `clean` takes secrets out of names.
pub fn text(
    figures: &Figures,
    period: &Period,
    by: Option<Table>,
    look: &Look,
    clean: impl Fn(&str) -> String,
) -> String {
    let clean = |name: &str| safe_line(&clean(name), 200);
    let most = if by.is_some() { usize::MAX } else { MOST_ROWS };
    let wanted = |table| by.is_none_or(|by| by == table);
    let mut parts = vec![summary(figures, period, look)];
    if wanted(Table::Day) {
        parts.push(days(figures, most).lines(*look));
    }
    if wanted(Table::Model) && !figures.models.is_empty() {
        parts.push(models(figures, most, &clean).lines(*look));
    }
    if wanted(Table::Tool) && !figures.tools.is_empty() {
        parts.push(tools(figures, most, &clean).lines(*look));
    }
    parts.join("\n")
}

/// A few words, on as many lines as they need.
fn summary(figures: &Figures, period: &Period, look: &Look) -> String {
    let spent = &figures.spent;
    let first = period.since.or_else(|| figures.days.keys().next().copied()).unwrap_or(period.until);
    let (to, dot) = if look.unicode { ("–", " · ") } else { ("to", ", ") };
    let mut facts = vec![
        format!("{first} {to} {} ({})", period.until, safe_line(&period.zone, 40)),
        counted(figures.sessions, "session"),
        counted(figures.turns, "turn"),
        format!("{} tokens", short(spent.tokens())),
        match spent {
            Spent { unpriced: 0, .. } => dollars(spent.cost),
            Spent { cost: Cost(0), .. } => "cost unknown".to_owned(),
            _ => format!("{} + {} of unknown price", dollars(spent.cost), counted(spent.unpriced, "reply")),
        },
    ];
    if spent.uncounted > 0 {
        facts.push(format!("{} without a count of tokens", counted(spent.uncounted, "reply")));
    }
    if figures.calls.cost.0 > 0 {
        facts.push(format!("{} for tools", fee(&figures.calls)));
    }
    if figures.unreadable > 0 {
        facts.push(format!("{} damaged", counted(figures.unreadable, "session")));
    }
    let (mut lines, mut line) = (String::new(), String::new());
    for fact in facts {
        if !line.is_empty()
            && converse_text::width(&line) + dot.len() + converse_text::width(&fact) > look.columns
        {
            lines.push_str(&(std::mem::take(&mut line) + "\n"));
        }
        let dot = if line.is_empty() { "" } else { dot };
        line.push_str(&format!("{dot}{fact}"));
    }
    lines + &line + "\n"
}

fn counted(number: u64, what: &str) -> String {
    match (number, what) {
        (1, what) => format!("1 {what}"),
        (number, "reply") => format!("{} replies", short(number)),
        (number, what) => format!("{} {what}s", short(number)),
    }
}

/// With the order in which columns are left out if there is no room.
fn columns<const N: usize>(heads: [&'static str; N], spare: [u8; N]) -> Vec<Column> {
    heads.into_iter().zip(spare).map(|(head, spare)| Column { head, spare }).collect()
}

/// The last ones, in their order.
fn days(figures: &Figures, most: usize) -> Chart {
    let heads = ["turns", "replies", "in", "out", "cached", "cost", "calls"];
    let columns = columns(heads, [3, 4, 1, 2, 5, 0, 6]);
    let cells = |turns: u64, spent: &Spent, calls: &Calls| {
        let [turns, replies, input, output] = [turns, spent.replies, spent.input, spent.output].map(short);
        let cached = percent(spent.cache_read, spent.input);
        vec![turns, replies, input, output, cached, price(spent), short(calls.calls)]
    };
    let skipped = figures.days.len().saturating_sub(most);
    let rows = figures.days.iter().skip(skipped).map(|(date, day)| Row {
        name: date.to_string(),
        cells: cells(day.turns, &day.spent, &day.calls),
        weight: day.spent.tokens(),
    });
    let mut rows: Vec<Row> = rows.collect();
    if skipped > 0 {
        rows.insert(0, skipped_row(skipped, "day"));
    }
    let total = Row {
        name: "total".to_owned(),
        cells: cells(figures.turns, &figures.spent, &figures.calls),
        weight: 0,
    };
    Chart { what: "day", columns, rows, total: Some(total) }
}

fn models(figures: &Figures, most: usize, clean: &impl Fn(&str) -> String) -> Chart {
    let sorted = cells::models(figures);
    let rows = sorted.iter().take(most).map(|(name, model)| Row {
        name: clean(name),
        cells: cells::of_model(model).into(),
        weight: model.spent.tokens(),
    });
    let rows = rows.chain(more(sorted.len(), most, "model")).collect();
    let columns = columns(cells::OF_MODELS, [3, 4, 5, 8, 0, 1, 2, 6, 7]);
    Chart { what: "model", columns, rows, total: None }
}

fn tools(figures: &Figures, most: usize, clean: &impl Fn(&str) -> String) -> Chart {
    let sorted = cells::tools(figures);
    let rows = sorted.iter().take(most).map(|(name, tool)| Row {
        name: clean(name),
        cells: cells::of_tool(tool).into(),
        weight: tool.calls.calls,
    });
    let rows = rows.chain(more(sorted.len(), most, "tool")).collect();
    Chart { what: "tool", columns: columns(cells::OF_TOOLS, [0, 2, 5, 4, 6, 1, 3]), rows, total: None }
}

fn more(there: usize, most: usize, what: &'static str) -> Option<Row> {
    there.checked_sub(most).filter(|left| *left > 0).map(|left| skipped_row(left, what))
}

/// A row that counts hidden rows; `--by` shows them.
fn skipped_row(count: usize, what: &str) -> Row {
    let s = if count == 1 { "" } else { "s" };
    Row { name: format!("+{count} {what}{s}"), cells: Vec::new(), weight: 0 }
}
