//! `/ensembles`: which are connected, which failed and why; `/ensembles NAME …`: only these; `+NAME` and `-NAME`: one more,
//! one less; `all`: those that are enabled.

use crate::repl::session::ReplSession;
use converse_host::failure::Failure;
use converse_host::options::TurnOptions;

impl ReplSession<'_> {
    pub(super) async fn ensembles(&mut self, words: &[String]) -> Result<(), Failure> {
        if words.is_empty() {
            self.view.say(&self.ensembles_table());
            return Ok(());
        }
        let wanted = self.requested_names(words)?;
        let none = wanted.as_ref().is_some_and(Vec::is_empty);
        let options =
            TurnOptions { no_tools: none, ensemble: wanted.unwrap_or_default(), ..self.options.clone() };
        let settings = self.resolved(&options)?;
        let before = std::mem::replace(&mut self.settings, settings);
        if let Err(failure) = self.reconnect().await {
            self.settings = before;
            return Err(failure);
        }
        self.options = options;
        self.wires = self.settings.wires();
        self.view.say(&self.ensembles_table());
        Ok(())
    }

    /// `None`: all that are enabled.
    fn requested_names(&self, words: &[String]) -> Result<Option<Vec<String>>, Failure> {
        if let [all] = words
            && all == "all"
        {
            return Ok(None);
        }
        let changes = words.iter().all(|word| word.starts_with(['+', '-']));
        let mut wanted: Vec<String> = match changes {
            true => {
                let now = self.catalogue.select(self.settings.ensembles.as_deref())?;
                now.into_iter().map(|plan| plan.name.to_string()).collect()
            }
            false => Vec::new(),
        };
        for word in words {
            let name = word.strip_prefix(['+', '-']).unwrap_or(word);
            self.catalogue.named(name)?;
            wanted.retain(|known| known != name);
            if !word.starts_with('-') {
                wanted.push(name.to_owned());
            }
        }
        Ok(Some(wanted))
    }

    fn ensembles_table(&self) -> String {
        let mut rows = vec![["ensemble", "tools", "", "description"].map(str::to_owned).to_vec()];
        for plan in &self.catalogue.plans {
            let name = plan.name.as_str();
            let tools = self.connected.roster.tools_of(name).map(|tools| tools.len());
            let failed = self.connected.failures.iter().find(|failure| failure.ensemble == name);
            let state = match (tools, failed) {
                (_, Some(failed)) => format!("failed: {}", failed.reason),
                (Some(_), None) => "connected".to_owned(),
                (None, None) if converse_host::catalogue::is_inert(plan) => {
                    "not trusted: `converse ensembles trust`".to_owned()
                }
                (None, None) => "off".to_owned(),
            };
            let tools = tools.map(|tools| tools.to_string()).unwrap_or_default();
            rows.push(vec![name.to_owned(), tools, state, plan.description.clone()]);
        }
        self.view.table(&rows).trim_end().to_owned()
    }
}
