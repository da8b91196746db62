//! What a server may ask of us, and as whom it is spoken to.

use converse_config::{Grants, LogLevel, OauthPlan};
use serde_json::{Value, json};

use super::super::{Line, quoted};
use super::written::written;

pub(super) fn oauth_json(plan: &OauthPlan) -> Value {
    json!({
        "client_id": plan.client_id.as_ref().map(written),
        "has_secret": plan.client_secret.is_some(),
        "scopes": plan.scopes,
        "client_metadata_url": plan.client_metadata_url,
        "redirect_port": plan.redirect_port,
    })
}

pub(super) fn oauth_line(plan: &OauthPlan) -> Line {
    let client = plan.client_id.as_ref().map(|id| format!(" as the client {}", quoted(&written(id))));
    let scopes: Vec<String> = plan.scopes.iter().map(|scope| quoted(scope)).collect();
    let asking =
        if scopes.is_empty() { String::new() } else { format!(", asking for {}", scopes.join(", ")) };
    Line::acting(format!("GETS TOKENS IN YOUR NAME by OAuth{}{asking}", client.unwrap_or_default()))
}

pub(super) fn grants_json(grants: &Grants) -> Value {
    json!({
        "roots": grants.roots,
        "elicitation": grants.elicitation,
        "sampling": grants.sampling,
        "log_level": grants.log_level.map(LogLevel::as_str),
    })
}

pub(super) fn grants_lines(grants: &Grants) -> Vec<Line> {
    let mut lines = Vec::new();
    if !grants.roots.is_empty() {
        let roots: Vec<String> = grants.roots.iter().map(|root| quoted(root)).collect();
        lines.push(Line::acting(format!("IS TOLD OF THE DIRECTORIES {}", roots.join(", "))));
    }
    if grants.sampling {
        lines.push(Line::acting("MAY ASK THE MODEL at your cost".to_owned()));
    }
    if !grants.elicitation {
        lines.push(Line::telling("elicitation = false".to_owned()));
    }
    lines.extend(grants.log_level.map(|level| Line::telling(format!("log_level = {}", level.as_str()))));
    lines
}
