//! An explanation for people and for programs.

use converse_config::{Bearing, Explanation, Heard, Permission, Rule, Subject};
use serde_json::{Value, json};

use super::case::{Absent, Case};
use converse_text::safe_line;

pub(super) struct Told<'a> {
    pub(super) case: &'a Case,
    pub(super) subject: Subject<'a>,
    pub(super) rules: &'a [Rule],
    pub(super) explanation: &'a Explanation,
    /// Why the arguments are not taken; such a call is answered before any rule is asked.
    pub(super) faults: &'a [String],
}

/// What becomes of the call in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unavailable,
    Held,
    Invalid,
    Runs,
    Asked,
    Refused,
}

impl Fate {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Held => "held",
            Self::Invalid => "invalid",
            Self::Runs => "runs",
            Self::Asked => "asked",
            Self::Refused => "refused",
        }
    }
}

impl Told<'_> {
    fn fate(&self) -> Fate {
        match self.case.absent {
            Some(Absent::Unavailable) => return Fate::Unavailable,
            Some(Absent::Held) => return Fate::Held,
            None => {}
        }
        match self.explanation.judgement.permission {
            _ if !self.faults.is_empty() => Fate::Invalid,
            Permission::Allow => Fate::Runs,
            Permission::Ask if self.subject.interactive => Fate::Asked,
            Permission::Ask | Permission::Deny => Fate::Refused,
        }
    }

    pub(super) fn json(&self) -> Value {
        let judgement = &self.explanation.judgement;
        json!({
            "tool": self.subject.tool,
            "fate": self.fate().as_str(),
            "decision": judgement.permission.as_str(),
            "rule": judgement.rule,
            "reason": judgement.reason,
            "by_rule": judgement.by_rule,
            "effects": self.subject.effects.as_str(),
            "trusted": self.subject.trusted,
            "interactive": self.subject.interactive,
            "own": { "permission": self.case.own.0.as_str(), "source": self.case.own.1 },
            "arguments": {
                "checked": self.case.schema.is_some(),
                "faults": self.faults,
                "filled": self.subject.arguments,
            },
            "rules": self.explanation.heard.iter().map(|heard| self.rule_json(heard)).collect::<Vec<_>>(),
            "notes": self.case.notes,
        })
    }

    fn rule_json(&self, heard: &Heard) -> Value {
        let rule = self.rules.get(heard.index);
        let whys: &[String] = if let Bearing::Misses(whys) = &heard.bearing { whys } else { &[] };
        json!({
            "pattern": rule.map(|rule| rule.pattern.as_str()),
            "source": rule.map(|rule| rule.source.as_str()),
            "decision": rule.map(|rule| rule.permission.as_str()),
            "reason": rule.and_then(|rule| rule.reason.as_deref()),
            "bearing": bearing(&heard.bearing),
            "why_not": whys,
        })
    }

    pub(super) fn text(&self) -> String {
        let judgement = &self.explanation.judgement;
        let line = |text: &str| safe_line(text, 400);
        let mut text = format!("{}: {}\n", line(self.subject.tool), self.in_words());
        text.push_str(&format!("  decided by  {}\n", line(&judgement.rule)));
        if let Some(reason) = &judgement.reason {
            text.push_str(&format!("  reason      {}\n", line(reason)));
        }
        text.push_str(&format!("  effects     {}\n", self.subject.effects.as_str()));
        let (own, source) = &self.case.own;
        text.push_str(&format!("  by itself   {}, because of {}\n", own.as_str(), line(source)));
        let fit = match (&self.case.schema, self.faults) {
            (_, [first, ..]) => format!("do not fit: {}", line(first)),
            (Some(_), []) => "fit the schema".to_owned(),
            (None, []) => "are not checked".to_owned(),
        };
        text.push_str(&format!("  arguments   {fit}\n"));
        text.extend(self.faults.iter().skip(1).map(|fault| format!("              {}\n", line(fault))));
        text.extend(self.case.notes.iter().map(|note| format!("  note        {}\n", line(note))));
        if self.explanation.heard.is_empty() {
            text.push_str("no rule names it\n");
        } else {
            text.push_str("rules that name it:\n");
            text.extend(self.explanation.heard.iter().map(|heard| self.rule_line(heard)));
        }
        text
    }

    fn in_words(&self) -> &'static str {
        match self.fate() {
            Fate::Unavailable => "not available in a run",
            Fate::Held => "held back by the lockfile",
            Fate::Invalid => "answered as invalid before any rule is asked",
            Fate::Runs => "allow",
            Fate::Asked => "ask",
            Fate::Refused if self.explanation.judgement.permission == Permission::Ask => {
                "refused, since it must be asked and nobody can be"
            }
            Fate::Refused => "deny",
        }
    }

    fn rule_line(&self, heard: &Heard) -> String {
        let Some(rule) = self.rules.get(heard.index) else { return String::new() };
        let why = match &heard.bearing {
            Bearing::Misses(whys) => format!("does not count: {}", whys.join("; ")),
            bearing => self::bearing(bearing).to_owned(),
        };
        let decision = rule.permission.as_str();
        format!("  {decision:<5}  {}  {}\n", safe_line(&rule.shown(), 200), safe_line(&why, 400))
    }
}

fn bearing(bearing: &Bearing) -> &'static str {
    match bearing {
        Bearing::Decides => "decides",
        Bearing::Agrees => "agrees",
        Bearing::Outweighed => "outweighed",
        Bearing::Misses(_) => "misses",
    }
}
