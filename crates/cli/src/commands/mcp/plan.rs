//! The plan of an ensemble for the server on the command line. Naming the server allows its tools.

use std::time::Duration;

use converse_canister::EnsembleName;
use converse_config::{
    ConnectionPlan, EnsemblePlan, Grants, OauthPlan, Origin, Permission, Protocol, Scope, SecretRef,
    TransportPlan,
};

use super::NAME;
use crate::args::{Elicit, OauthFlow, ProbeArgs};
use converse_host::failure::{Failure, Kind};

/// Large enough for results that a person reads here.
const RESULT_LIMIT: usize = 1024 * 1024;
const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(super) fn of(args: &ProbeArgs) -> Result<EnsemblePlan, Failure> {
    let origin = Origin { scope: Scope::Explicit, file: "the command line".to_owned(), line: 1 };
    let name = EnsembleName::new(NAME);
    let name = name.map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
    let mut plan = EnsemblePlan::new(name, origin);
    let timeout = Duration::from_secs_f64(args.timeout);
    plan.defaults.permission = Some(Permission::Allow);
    plan.defaults.timeout = timeout;
    plan.defaults.idle_timeout = timeout;
    plan.defaults.result_limit = RESULT_LIMIT;
    let grants = Grants { elicitation: args.elicit != Elicit::Decline, ..Grants::default() };
    plan.connection = Some(ConnectionPlan {
        connect_timeout: Some(timeout),
        protocol: protocol(&args.protocol)?,
        auth: oauth(args),
        grants,
        ..ConnectionPlan::new(way(args)?)
    });
    Ok(plan)
}

fn way(args: &ProbeArgs) -> Result<TransportPlan, Failure> {
    let Some(url) = &args.url else { return stdio(args) };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let failure = Failure::usage("bad-address", format!("`{url}` is not an address of a server"));
        return Err(failure.hint("an address begins with http:// or https://; a command comes after `--`"));
    }
    let headers = args.header.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    Ok(TransportPlan::Http { url: read(url)?, headers })
}

fn stdio(args: &ProbeArgs) -> Result<TransportPlan, Failure> {
    if !args.header.is_empty() || args.oauth != OauthFlow::Off {
        let message = "headers and authorization are for servers with an address";
        return Err(Failure::usage("bad-option", message));
    }
    let word = |word: &std::ffi::OsString| {
        let text = word.to_str().ok_or_else(|| Failure::usage("bad-command", "the command is not UTF-8"));
        // The shell has expanded variables already.
        text.map(|text| SecretRef::Literal(text.to_owned()))
    };
    let command = args.command.iter().map(word).collect::<Result<_, _>>()?;
    Ok(TransportPlan::Stdio { command, environment: Vec::new(), cwd: None })
}

fn header(text: &str) -> Result<(String, SecretRef), Failure> {
    let Some((name, value)) = text.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
        // The text may hold a secret, so it is not shown.
        return Err(Failure::usage("bad-header", "expected a header as `NAME: VALUE`"));
    };
    Ok((name.trim().to_owned(), read(value.trim())?))
}

fn read(text: &str) -> Result<SecretRef, Failure> {
    SecretRef::parse(text).map_err(|error| Failure::usage("bad-reference", error))
}

/// A revision chooses its era; the server chooses the revision within the era.
fn protocol(word: &str) -> Result<Protocol, Failure> {
    match word {
        "auto" => Ok(Protocol::Auto),
        "modern" | MODERN => Ok(Protocol::Modern),
        "legacy" => Ok(Protocol::Legacy),
        date if LEGACY.contains(&date) => Ok(Protocol::Legacy),
        other => {
            let failure = Failure::usage("bad-protocol", format!("`{other}` is not a known revision"));
            Err(failure
                .hint(format!("expected one of: auto, modern, legacy, {}, {MODERN}", LEGACY.join(", "))))
        }
    }
}

fn oauth(args: &ProbeArgs) -> Option<OauthPlan> {
    let secret = args.client_secret_env.clone().map(SecretRef::Environment);
    (args.oauth != OauthFlow::Off).then(|| OauthPlan {
        client_id: args.client_id.clone().map(SecretRef::Literal),
        client_secret: secret,
        client_metadata_url: args.client_metadata_url.clone(),
        ..OauthPlan::default()
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command, Mcp};

    fn planned(words: &[&str]) -> Result<EnsemblePlan, String> {
        let cli = Cli::try_parse_from([&["converse", "mcp", "probe"], words].concat());
        let cli = cli.map_err(|error| error.to_string())?;
        let Command::Mcp(Mcp::Probe(args)) = cli.command else { panic!("another command") };
        of(&args).map_err(|failure| failure.message)
    }

    fn connection(words: &[&str]) -> ConnectionPlan {
        planned(words).unwrap().connection.unwrap()
    }

    #[test]
    fn an_address_or_a_command_is_a_way() {
        let http =
            connection(&["https://host/mcp", "--header", "x-key: Bearer ${TOKEN}", "--header", "a:b:c"]);
        let TransportPlan::Http { url, headers } = http.transport else { panic!("not HTTP") };
        assert_eq!(url.to_string(), "https://host/mcp");
        let headers: Vec<_> = headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(headers, ["x-key=Bearer ${TOKEN}", "a=b:c"]);
        let stdio = connection(&["--", "npx", "-y", "${x}"]);
        let TransportPlan::Stdio { command, .. } = stdio.transport else { panic!("not stdio") };
        assert_eq!(command.last(), Some(&SecretRef::Literal("${x}".to_owned())));
        for bad in [
            &[][..],
            &["ftp://x"],
            &["https://host", "--", "x"],
            &["https://host", "--header", "nothing"],
            &["https://host", "--header", ": value"],
            &["https://host", "--protocol", "2025-11-26"],
            &["https://host", "--call", "x"],
            &["https://host", "--call-all", "--call", "x", "{}"],
            &["--header", "a: b", "--", "x"],
            &["--oauth", "headless", "--", "x"],
        ] {
            assert!(planned(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_revision_chooses_its_era() {
        for (word, protocol) in [
            ("auto", Protocol::Auto),
            ("modern", Protocol::Modern),
            ("2026-07-28", Protocol::Modern),
            ("legacy", Protocol::Legacy),
            ("2025-11-25", Protocol::Legacy),
            ("2024-11-05", Protocol::Legacy),
        ] {
            assert_eq!(connection(&["--protocol", word, "--", "x"]).protocol, protocol, "{word}");
        }
    }

    #[test]
    fn access_is_asked_for_only_if_that_was_said() {
        assert_eq!(connection(&["https://host"]).auth, None);
        let flags = ["--oauth", "headless", "--client-id", "i", "--client-secret-env", "S"];
        let auth = connection(&[&["https://host"][..], &flags].concat()).auth.unwrap();
        assert_eq!(auth.client_id, Some(SecretRef::Literal("i".to_owned())));
        assert_eq!(auth.client_secret, Some(SecretRef::Environment("S".to_owned())));
        assert!(!connection(&["https://host"]).grants.elicitation);
        assert!(connection(&["https://host", "--elicit", "defaults"]).grants.elicitation);
    }
}
