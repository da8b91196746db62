//! One row: what the server does, and what is required.

use serde_json::json;

use super::site::{Asked, Era, Site, State};
use crate::env::{TestEnv, measure};
use crate::fake_server::{BROKEN, Called, MEMORY, brief};
use crate::http::Answer;

#[derive(Clone, Copy)]
pub(super) struct Row {
    /// As the table of faults numbers them; several with a blank between.
    pub(super) ids: &'static str,
    pub(super) name: &'static str,
    pub(super) era: Era,
    /// `None`: what a good server does.
    pub(super) misdeed: fn(&Asked, &State) -> Option<Answer>,
    /// Lines of `[connection]` and `[defaults]`.
    pub(super) connection: &'static str,
    pub(super) policy: &'static str,
    pub(super) ends: Ends,
    /// How often the server was asked something, exactly.
    pub(super) asked: &'static [(&'static str, usize)],
}

#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// The outcome of the call, and what its text holds.
    Call(&'static str, &'static str),
    /// It is not there, and stderr says why.
    LeftOut(&'static str),
}

/// A good one.
pub(super) const ROW: Row = Row {
    ids: "C9",
    name: "",
    era: Era::Legacy,
    misdeed: |_, _| None,
    connection: "",
    policy: "",
    ends: Ends::Call("success", "hello"),
    asked: &[],
};

impl Row {
    #[track_caller]
    pub(super) fn holds(&self) {
        let site = Site::new(self.era, self.misdeed);
        let env = TestEnv::new();
        let Self { name, connection, policy, .. } = self;
        let text = format!(
            "[ensemble]\nname = \"{BROKEN}\"\ndescription = \"A server that is here to be tried\"\n\
             [defaults]\npermission = \"allow\"\n{policy}\n\
             [connection]\ntransport = \"http\"\nurl = \"{}\"\n{connection}\n",
            site.url,
        );
        env.write(&format!("servers/{BROKEN}.toml"), &text);
        let arguments = json!({ "text": "hello" }).to_string();
        let tool = format!("{BROKEN}.echo");
        let mut command = env.command(["ensembles", "call", &tool, &arguments, "--json", "--ensembles"]);
        let called = Called(measure(command.arg(env.path("servers")).spawn().unwrap()));
        let ran = &called.0.ran;
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains('\u{1b}'), "{name}: {}", brief(ran));
        match self.ends {
            Ends::Call(outcome, text) => {
                let json: serde_json::Value =
                    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{name}: {}", brief(ran)));
                assert_eq!(json["outcome"], outcome, "{name}: {}", brief(ran));
                let said = called.is(outcome);
                assert!(said.contains(text), "{name}: {}", brief(ran));
            }
            Ends::LeftOut(text) => {
                assert_ne!(ran.code, 0, "{name}: {}", brief(ran));
                let said = format!("{}{}", ran.stdout, ran.stderr);
                assert!(said.contains(text), "{name}: {}", brief(ran));
            }
        }
        assert!(called.0.peak <= MEMORY, "{name}: it held {} MiB", called.0.peak);
        for (method, times) in self.asked {
            assert_eq!(site.times(method), *times, "{name}: {method}");
        }
    }
}
