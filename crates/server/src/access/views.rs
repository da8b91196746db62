//! Which views of the gateway an admitted client may use.
//!
//! A client that views name has exactly those. As soon as one view names clients, others have nothing, except the user
//! who runs the server: a missing claim or a new token must not open all tools.

use std::sync::Arc;

use converse_canister::ViewName;
use converse_config::ViewPlan;
use converse_gateway::{Principal, ViewPlans};
use serde_json::{Map, Value};

use super::admission::Admission;

/// What an admitted client may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All tools, every view, and what is served beside MCP.
    Everything,
    /// These views and nothing else; at least one.
    Views(Arc<[ViewName]>),
}

/// The tokens and claims that lead to views.
#[derive(Debug, Clone, Default)]
pub(super) struct ViewAccess(ViewPlans);

impl ViewAccess {
    pub(super) fn new(views: ViewPlans) -> Self {
        Self(views)
    }

    /// Returns what the client may use; `None` if that is nothing.
    pub(super) fn of(&self, admission: &Admission) -> Option<Reach> {
        reach(&self.0.all(), admission)
    }

    /// Resolves when the client may no longer use this view, or with `None` everything.
    pub(super) async fn lost(&self, admission: &Admission, place: Option<&ViewName>) {
        let leads = |views: &[ViewPlan]| match (reach(views, admission), place) {
            (Some(Reach::Everything), None) => true,
            (Some(Reach::Everything), Some(place)) => views.iter().any(|view| view.name == *place),
            (Some(Reach::Views(views)), Some(place)) => views.contains(place),
            (Some(Reach::Views(_)), None) | (None, _) => false,
        };
        self.0.until(|views| !leads(views)).await;
    }
}

fn reach(views: &[ViewPlan], admission: &Admission) -> Option<Reach> {
    let named = views.iter().filter(|view| leads(view, admission));
    let named: Vec<ViewName> = named.map(|view| view.name.clone()).collect();
    if !named.is_empty() {
        return Some(Reach::Views(named.into()));
    }
    let is_free = !views.iter().any(ViewPlan::names_principals);
    (is_free || admission.principal == Principal::Owner).then_some(Reach::Everything)
}

/// Returns whether the token or all claims of a client lead to a view.
fn leads(view: &ViewPlan, admission: &Admission) -> bool {
    let by_token = admission
        .token_digest()
        .is_some_and(|digest| view.tokens.iter().any(|beginning| digest.starts_with(beginning)));
    let has = |claims: &Map<String, Value>| {
        view.claims
            .iter()
            .all(|(name, values)| claim(claims, name).is_some_and(|claim| is_one(claim, values)))
    };
    by_token || (!view.claims.is_empty() && admission.claims.as_deref().is_some_and(has))
}

fn claim<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    let Some(pointer) = name.strip_prefix('/') else { return claims.get(name) };
    let mut steps = pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
    let first = claims.get(&steps.next()?)?;
    steps.try_fold(first, |value, step| value.as_object()?.get(&step))
}

/// Returns whether a claim is one of the values, or a list with one of them. Other types are none.
fn is_one(claim: &Value, values: &[String]) -> bool {
    let is_value =
        |claim: &Value| claim.as_str().is_some_and(|claim| values.iter().any(|value| value == claim));
    match claim {
        Value::Array(list) => list.iter().any(is_value),
        claim => is_value(claim),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use converse_config::{Checked, Scope, SourceMap, parse_settings};
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::super::tokens::Tokens;
    use super::*;

    const TOKEN: &str = "0123456789abcdef";
    const OTHER: &str = "fedcba9876543210";

    fn plans(views: &[&str]) -> Vec<ViewPlan> {
        let text =
            views.iter().map(|more| format!("[[views]]\ntools = [\"*\"]\n{more}\n")).collect::<String>();
        let mut sources = SourceMap::new();
        let id = sources.add("s.toml", Scope::User, &text);
        let Checked { value, diagnostics } = parse_settings(&sources, id);
        assert_eq!(diagnostics, []);
        value.views
    }

    fn access(views: &[&str]) -> ViewAccess {
        ViewAccess::new(ViewPlans::new(plans(views)))
    }

    fn by_token(token: &str) -> Admission {
        let tokens = Arc::new(Tokens::read(token).unwrap());
        let digest = tokens.find(token).unwrap();
        Admission::by_token(&tokens, digest)
    }

    fn by_claims(claims: Value) -> Admission {
        let claims = serde_json::from_value(claims).unwrap();
        Admission::by_issuer("subject \"ada\"", &[7; 32], Duration::MAX, claims)
    }

    fn shown(reach: Option<Reach>) -> String {
        match reach {
            None => "nothing".to_owned(),
            Some(Reach::Everything) => "everything".to_owned(),
            Some(Reach::Views(views)) => views.iter().map(ViewName::as_str).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn a_client_has_the_views_that_name_it_and_others_have_nothing() {
        // `printf 0123456789abcdef | sha256sum` begins with 9f9f5111.
        let of_token = "name = \"a\"\ntokens = [\"9f9f5111\"]";
        let both = access(&[of_token, "name = \"c\"\ntokens = [\"9f9f5111f7b27a78\"]"]);
        assert_eq!(shown(both.of(&by_token(TOKEN))), "a c");
        let one = access(&[of_token, "name = \"all\""]);
        assert_eq!(shown(one.of(&by_token(TOKEN))), "a");
        assert_eq!(shown(one.of(&by_token(OTHER))), "nothing");
        assert_eq!(shown(one.of(&Admission::open())), "everything", "the user who runs the server");
        let tokens = Arc::new(Tokens::read(TOKEN).unwrap());
        let owner = Admission::of_owner(&tokens, tokens.find(TOKEN).unwrap());
        assert_eq!(shown(one.of(&owner)), "a", "also the owner, if a view names that token");
        // Without a view that names a client, nothing changes.
        let free = access(&["name = \"all\""]);
        assert_eq!(shown(free.of(&by_token(OTHER))), "everything");
        assert_eq!(shown(ViewAccess::default().of(&by_token(OTHER))), "everything");
    }

    #[test]
    fn a_claim_leads_to_a_view_only_as_it_is_written() {
        let views = access(&[
            "name = \"data\"\nclaims = { group = \"data\" }",
            "name = \"lead\"\nclaims = { group = [\"data\", \"ops\"], \"/realm/roles\" = \"lead\" }",
        ]);
        for (claims, expected) in [
            (json!({ "group": "data" }), "data"),
            (json!({ "group": ["x", "data"] }), "data"),
            (json!({ "group": "ops", "realm": { "roles": ["lead"] } }), "lead"),
            (json!({ "group": "data", "realm": { "roles": "lead" } }), "data lead"),
            (json!({ "group": "data", "realm": { "roles": ["leads"] } }), "data"),
            (json!({ "group": "DATA" }), "nothing"),
            (json!({ "group": "data ops" }), "nothing"),
            (json!({ "group": { "data": true } }), "nothing"),
            (json!({ "group": [["data"]] }), "nothing"),
            (json!({ "groups": "data" }), "nothing"),
            (json!({}), "nothing"),
        ] {
            assert_eq!(shown(views.of(&by_claims(claims.clone()))), expected, "{claims}");
        }
        assert_eq!(shown(views.of(&by_token(TOKEN))), "nothing");
        // The digest of issuer and subject is not one of a token.
        let by_digest = access(&["name = \"a\"\ntokens = [\"07070707\"]"]);
        assert_eq!(shown(by_digest.of(&by_claims(json!({})))), "nothing");
    }

    #[tokio::test]
    async fn a_view_is_lost_when_a_client_is_led_to_it_no_longer() {
        let of = |name: &str, beginning: &str| format!("name = \"{name}\"\ntokens = [\"{beginning}\"]");
        let (own, other) = (of("a", "9f9f5111"), of("b", "6b7fe824"));
        let views = ViewPlans::new(plans(&[&own, &other]));
        let mut client = by_token(TOKEN);
        client.views = Some(ViewAccess::new(views.clone()));
        let at = |place: Option<&str>| client.clone().at(place.map(|name| ViewName::new(name).unwrap()));
        let lost = |place: Option<&str>| {
            let client = at(place);
            let ends = [client.expired().now_or_never(), client.revoked().now_or_never()];
            assert_eq!(ends[0], ends[1]);
            ends[0].is_some()
        };
        assert_eq!([lost(Some("a")), lost(Some("b")), lost(None)], [false, true, true]);
        views.replace(plans(&[&other, "name = \"a\""]));
        assert_eq!([lost(Some("a")), lost(None)], [true, true]);
        views.replace(plans(&["name = \"a\""]));
        assert_eq!([lost(Some("a")), lost(Some("b")), lost(None)], [false, true, false]);
        // It is heard of while it is waited for.
        let client = at(Some("a"));
        let mut waiting = std::pin::pin!(client.expired());
        assert!(waiting.as_mut().now_or_never().is_none());
        views.replace(Vec::new());
        waiting.await;
    }
}
