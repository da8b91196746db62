//! `converse explain`: which rule decides about a call, from which file and line, and what the other rules say.

use converse_canister::SeenData;
use converse_config::{ExplainedRule, Permission, RuleEffect};
use serde_json::{Value, json};

use crate::args::ExplainArgs;
use converse_host::catalogue::Catalogue;
use converse_host::explanation::{ExplainedCall, Fate};
use converse_host::failure::Failure;
use converse_host::settings::{Files, rules};
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_text::safe_line;

const PROGRAM: &str = concat!("converse ", env!("CARGO_PKG_VERSION"));

pub(crate) fn run(args: &ExplainArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let catalogue = Catalogue::find(world, &args.places.ensembles);
    console.warn_all(catalogue.notes());
    let (files, warnings) = Files::read(world).checked()?;
    console.warn_all(warnings);
    let rules = rules(&args.rules.options(), &files)?;
    let seen = args.session.as_deref().map(|session| seen(session, world)).transpose()?;
    let call = (args.tool.as_str(), args.arguments.as_slice());
    let how = (!args.unattended, args.mode.mode);
    let call = ExplainedCall::new(call, how, &rules, seen.as_ref(), &catalogue, world)?;
    Ok(if args.json { console.print_json(as_json(&call)) } else { console.print(&as_text(&call)) }?)
}

/// Returns the labels of all data in a session.
fn seen(session: &str, world: &World) -> Result<SeenData, Failure> {
    let store = sessions::required(world)?;
    let id = store.resolve(session).map_err(Failure::of_session)?;
    let document = store.document(id, PROGRAM).map_err(Failure::of_session)?;
    let mut seen = SeenData::default();
    document.canisters.iter().for_each(|kept| seen.add(&kept.canister));
    Ok(seen)
}

fn as_json(call: &ExplainedCall<'_>) -> Value {
    let judgement = &call.explanation.judgement;
    json!({
        "tool": call.tool,
        "fate": call.fate.as_str(),
        "decision": judgement.permission.as_str(),
        "rule": judgement.rule,
        "reason": judgement.reason,
        "by_rule": judgement.by_rule,
        "effects": call.effects.as_str(),
        "trusted": call.trusted,
        "interactive": call.interactive,
        "mode": call.mode.as_str(),
        "own": { "permission": call.own.0.as_str(), "source": call.own.1 },
        "arguments": { "checked": call.checked, "faults": call.faults, "filled": call.arguments },
        "rules": call.explanation.rules.iter().map(|explained| rule_json(call, explained)).collect::<Vec<_>>(),
        "seen": call.foreign.as_ref().map(|foreign| json!({ "foreign": foreign, "private": call.private })),
        "notes": call.notes,
    })
}

fn rule_json(call: &ExplainedCall<'_>, explained: &ExplainedRule) -> Value {
    let rule = call.rules.get(explained.index);
    let whys: &[String] = if let RuleEffect::NotApplicable(whys) = &explained.effect { whys } else { &[] };
    json!({
        "pattern": rule.map(|rule| rule.pattern.as_str()),
        "source": rule.map(|rule| rule.source.as_str()),
        "decision": rule.map(|rule| rule.permission.as_str()),
        "reason": rule.and_then(|rule| rule.reason.as_deref()),
        "bearing": bearing(&explained.effect),
        "why_not": whys,
        "opens": if let RuleEffect::Opens(labels) = &explained.effect { labels.as_slice() } else { &[] },
    })
}

fn as_text(call: &ExplainedCall<'_>) -> String {
    let judgement = &call.explanation.judgement;
    let line = |text: &str| safe_line(text, 400);
    let fate = match call.fate {
        Fate::Unavailable => "not available in a run",
        Fate::Held => "held back by the lockfile",
        Fate::Invalid => "answered as invalid before any rule is asked",
        Fate::Runs => "allow",
        Fate::Asked => "ask",
        Fate::Refused if judgement.permission == Permission::Ask => {
            "refused, because it needs an approval and nobody can be asked"
        }
        Fate::Refused => "deny",
    };
    let mut text = format!("{}: {fate}\n", line(call.tool));
    text.push_str(&format!("  decided by  {}\n", line(&judgement.rule)));
    if let Some(reason) = &judgement.reason {
        text.push_str(&format!("  reason      {}\n", line(reason)));
    }
    text.push_str(&format!("  effects     {}\n", call.effects.as_str()));
    text.push_str(&format!("  mode        {}\n", call.mode.as_str()));
    let (own, source) = &call.own;
    text.push_str(&format!("  by itself   {}, because of {}\n", own.as_str(), line(source)));
    let fit = match call.faults.as_slice() {
        [first, ..] => format!("do not fit: {}", line(first)),
        [] if call.checked => "fit the schema".to_owned(),
        [] => "are not checked".to_owned(),
    };
    text.push_str(&format!("  arguments   {fit}\n"));
    text.extend(call.faults.iter().skip(1).map(|fault| format!("              {}\n", line(fault))));
    for (name, labels) in [("foreign", &call.foreign), ("private", &call.private)] {
        let Some(labels) = labels else { continue };
        let labels = if labels.is_empty() { "nothing".to_owned() } else { labels.join(", ") };
        text.push_str(&format!("  {name:<10}  {}\n", line(&labels)));
    }
    text.extend(call.notes.iter().map(|note| format!("  note        {}\n", line(note))));
    if call.explanation.rules.is_empty() {
        text.push_str("no rule names it\n");
    } else {
        text.push_str("rules that name it:\n");
        text.extend(call.explanation.rules.iter().map(|explained| rule_line(call, explained)));
    }
    text
}

fn rule_line(call: &ExplainedCall<'_>, explained: &ExplainedRule) -> String {
    let Some(rule) = call.rules.get(explained.index) else { return String::new() };
    let why = match &explained.effect {
        RuleEffect::NotApplicable(whys) => format!("does not count: {}", whys.join("; ")),
        RuleEffect::Opens(labels) => format!("asks nothing about {}", labels.join(", ")),
        bearing => self::bearing(bearing).to_owned(),
    };
    let decision = rule.permission.as_str();
    format!("  {decision:<5}  {}  {}\n", safe_line(&rule.shown(), 200), safe_line(&why, 400))
}

fn bearing(bearing: &RuleEffect) -> &'static str {
    match bearing {
        RuleEffect::Decides => "decides",
        RuleEffect::Agrees => "agrees",
        RuleEffect::Overruled => "outweighed",
        RuleEffect::Opens(_) => "opens",
        RuleEffect::NotApplicable(_) => "misses",
    }
}
