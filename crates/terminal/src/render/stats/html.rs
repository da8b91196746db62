//! One page that needs nothing else and does nothing: no script, no request, no link. Names of models and tools are
//! texts of others: each passes `line` on its way into the page.

use std::collections::BTreeMap;

use converse_canister::Cost;
use converse_screen::html::line;
use converse_session::stats::{Day, Figures, Share, Tool};
use jiff::ToSpan as _;
use jiff::civil::Date;

use super::super::HtmlPage;
use super::Period;
use super::cells;
use super::number::{self, dollars, fee, price, short, time};
use super::svg::{Lying, Stack, lying, stacked};

/// Rows of a plot; the tables have all.
const MOST_ROWS: usize = 12;
const MOST_BARS: i32 = 92;
/// Colours of models; those that took least share the last one.
const SERIES: usize = 8;

/// `clean` takes secrets out of names.
pub fn html(figures: &Figures, period: &Period, clean: impl Fn(&str) -> String) -> String {
    let page_of = Page { figures, series: series(figures), name: &|name| line(&clean(name), 80) };
    let first = period.since.or_else(|| figures.days.keys().next().copied()).unwrap_or(period.until);
    let head = format!("{first} – {} ({})", period.until, line(&period.zone, 40));
    let page = HtmlPage {
        title: &format!("What was used, {head}"),
        style: include_str!("style.css"),
        pictures: false,
        header: &format!("<h1>What was used</h1>\n<p>{head}</p>\n<dl>{}</dl>", page_of.facts()),
        main: &page_of.body(first, period.until),
        footer: concat!(
            "From the sessions that are kept here, by converse ",
            env!("CARGO_PKG_VERSION"),
            ". p50 and p95: half of all times, and 95 of 100, are no longer (to 1&nbsp;%)."
        ),
    };
    page.html()
}

struct Page<'a> {
    figures: &'a Figures,
    /// The models that took most, which have a colour of their own.
    series: Vec<&'a str>,
    /// Makes a name a piece of the page.
    name: &'a dyn Fn(&str) -> String,
}

fn series(figures: &Figures) -> Vec<&str> {
    cells::models(figures).into_iter().take(SERIES - 1).map(|(name, _)| name).collect()
}

impl Page<'_> {
    fn facts(&self) -> String {
        let Figures { sessions, turns, spent, calls, .. } = self.figures;
        let fact = |what: &str, number: &str, small: &str| {
            let small = if small.is_empty() { String::new() } else { format!("<small>{small}</small>") };
            format!("<div><dt>{what}</dt><dd>{number}{small}</dd></div>")
        };
        let unpriced = match spent.unpriced {
            0 => String::new(),
            count => format!("{} at unknown prices", short(count)),
        };
        let priced = price(spent).trim_end_matches('+').replace('?', "unknown");
        let failed = percent(calls.failed(), calls.calls);
        [
            fact("Sessions", &short(*sessions), &format!("{} turns", short(*turns))),
            fact("Replies", &short(spent.replies), &unpriced),
            fact("Tokens in", &short(spent.input), &cached(spent.cache_read, spent.input)),
            fact("Tokens out", &short(spent.output), &reasoned(spent.reasoning, spent.output)),
            fact("Cost of models", if priced.is_empty() { "$0" } else { &priced }, ""),
            fact(
                "Calls of tools",
                &short(calls.calls),
                &if failed.is_empty() { fee(calls) } else { failed + " failed" },
            ),
        ]
        .concat()
    }

    fn body(&self, first: Date, last: Date) -> String {
        if self.figures.is_empty() {
            return "<p class=\"note\">Nothing was used in that time.</p>\n".to_owned();
        }
        let days = self.bars(first, last);
        let tokens = self.by_day(&days, |share| share.tokens as f64, |amount| short(amount as u64));
        let in_dollars = |amount: f64| dollars(Cost(amount as u64));
        let cost = self.by_day(&days, |share| share.cost.0 as f64, in_dollars);
        let key = self.key();
        let mut body = section("Tokens by day and model", &(tokens + &key));
        if self.figures.spent.cost > Cost(0) {
            body.push_str(&section("Cost by day and model", &(cost + &key)));
        }
        body.push_str(&self.latency());
        body.push_str(&self.failures());
        body.push_str(&self.models());
        body.push_str(&self.tools());
        if self.figures.unreadable > 0 {
            let count = self.figures.unreadable;
            body.push_str(&format!(
                "<p class=\"note\">{count} damaged session(s) are counted only as far as they can be read.</p>\n"
            ));
        }
        body
    }

    /// Days, or weeks or months where there are too many days; also those on which nothing was.
    fn bars(&self, first: Date, last: Date) -> BTreeMap<Date, BTreeMap<usize, Share>> {
        let used = self.figures.days.keys();
        let first = used.clone().next().map_or(first, |day| first.max(*day));
        let last = used.last().map_or(last, |day| last.max(*day));
        let span = first.until(last).map_or(0, |span| span.get_days());
        let begin = |date: Date| match span {
            ..MOST_BARS => date,
            MOST_BARS..644 => {
                date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).unwrap_or(date)
            }
            _ => date.first_of_month(),
        };
        let mut bars = BTreeMap::new();
        let mut date = first;
        while date <= last && bars.len() < 500 {
            bars.entry(begin(date)).or_default();
            let Ok(next) = date.checked_add(1.day()) else { break };
            date = next;
        }
        for (date, Day { models, .. }) in &self.figures.days {
            let bar: &mut BTreeMap<usize, Share> = bars.entry(begin(*date)).or_default();
            for (name, share) in models {
                let place = bar.entry(self.colour(name)).or_default();
                place.tokens = place.tokens.saturating_add(share.tokens);
                place.cost = place.cost.plus(share.cost);
            }
        }
        bars
    }

    fn by_day(
        &self,
        days: &BTreeMap<Date, BTreeMap<usize, Share>>,
        amount: impl Fn(&Share) -> f64,
        unit: impl Fn(f64) -> String,
    ) -> String {
        let stacks = days.iter().map(|(date, shares)| {
            let parts = shares.iter().map(|(series, share)| {
                let told = format!("{date} · {} · {}", self.of_series(*series), unit(amount(share)));
                (*series, amount(share), told)
            });
            Stack { label: date.strftime("%-d %b").to_string(), parts: parts.collect() }
        });
        stacked(&stacks.collect::<Vec<_>>(), &unit)
    }

    fn colour(&self, model: &str) -> usize {
        self.series.iter().position(|name| *name == model).unwrap_or(SERIES - 1)
    }

    fn of_series(&self, series: usize) -> String {
        self.series.get(series).map_or("others".to_owned(), |name| (self.name)(name))
    }

    fn key(&self) -> String {
        let mut places: Vec<usize> = (0..self.series.len()).collect();
        if self.figures.models.len() > self.series.len() {
            places.push(SERIES - 1);
        }
        let items = places
            .into_iter()
            .map(|series| format!("<li><i class=\"s{series}\"></i>{}</li>", self.of_series(series)));
        format!("<ul class=\"key\">{}</ul>", items.collect::<String>())
    }

    fn latency(&self) -> String {
        let mut models: Vec<_> =
            self.figures.models.iter().filter(|(_, model)| model.time.count() > 0).collect();
        models.sort_by_key(|(_, model)| std::cmp::Reverse(model.spent.replies));
        let rows = models.into_iter().take(MOST_ROWS).map(|(name, model)| {
            let bar = |class, share| {
                let quantile = model.time.quantile(share);
                (class, quantile.unwrap_or(0) as f64, time(quantile))
            };
            Lying { name: self.short(name), bars: vec![bar("half", 0.5), bar("most", 0.95)] }
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return String::new();
        }
        let key =
            "<ul class=\"key\"><li><i class=\"half\"></i>p50</li><li><i class=\"most\"></i>p95</li></ul>";
        section("Time to a whole reply, by model", &(lying(&rows) + key))
    }

    fn failures(&self) -> String {
        let bad = |tool: &Tool| tool.calls.failed() + tool.calls.invalid();
        let rate = |tool: &Tool| bad(tool) as f64 / tool.calls.calls.max(1) as f64;
        let mut tools: Vec<_> = self.figures.tools.iter().filter(|(_, tool)| bad(tool) > 0).collect();
        tools.sort_by(|(_, a), (_, b)| rate(b).total_cmp(&rate(a)));
        let rows = tools.into_iter().take(MOST_ROWS).map(|(name, tool)| {
            let of = |part: u64| part as f64 / tool.calls.calls.max(1) as f64;
            let told = |part: u64, what: &str| match percent(part, tool.calls.calls) {
                none if none.is_empty() => String::new(),
                share => format!("{share} {what}"),
            };
            let (failed, invalid) = (tool.calls.failed(), tool.calls.invalid());
            let bars = [("bad", failed, "failed"), ("s1", invalid, "bad args")];
            let bars = bars.into_iter().filter(|(_, part, _)| *part > 0);
            let bars = bars.map(|(class, part, what)| (class, of(part), told(part, what)));
            Lying { name: self.short(name), bars: bars.collect() }
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            String::new()
        } else {
            section("How often calls failed, by tool", &lying(&rows))
        }
    }

    /// For a plot, which has less room than a table.
    fn short(&self, name: &str) -> String {
        (self.name)(&converse_text::shorten::chars(name, 30))
    }

    fn models(&self) -> String {
        let models = cells::models(self.figures).into_iter();
        let rows = models.map(|(name, model)| self.row(name, &cells::of_model(model)));
        table("Models", "model", &cells::OF_MODELS, rows.collect())
    }

    fn tools(&self) -> String {
        let tools = cells::tools(self.figures).into_iter();
        let rows = tools.map(|(name, tool)| self.row(name, &cells::of_tool(tool)));
        table("Tools", "tool", &cells::OF_TOOLS, rows.collect())
    }

    fn row(&self, name: &str, cells: &[String]) -> String {
        let cells = cells.iter().map(|cell| escaped(cell));
        let cells = std::iter::once((self.name)(name)).chain(cells);
        format!("<tr>{}</tr>\n", cells.map(|cell| format!("<td>{cell}</td>")).collect::<String>())
    }
}

fn percent(part: u64, whole: u64) -> String {
    escaped(&number::percent(part, whole))
}

/// The sign for "less than" is a sign of HTML; no number has another one.
fn escaped(number: &str) -> String {
    number.replace('<', "&lt;")
}

fn cached(part: u64, whole: u64) -> String {
    let share = percent(part, whole);
    if share.is_empty() { share } else { share + " from a cache" }
}

fn reasoned(part: u64, whole: u64) -> String {
    let share = percent(part, whole);
    if share.is_empty() { share } else { share + " reasoning" }
}

fn section(title: &str, body: &str) -> String {
    format!("<section>\n<h2>{title}</h2>\n{body}\n</section>\n")
}

fn table(title: &str, what: &str, head: &[&str], rows: String) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = std::iter::once(&what).chain(head);
    let head: String = head.map(|cell| format!("<th>{cell}</th>")).collect();
    section(
        title,
        &format!(
            "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>"
        ),
    )
}
