//! A model with one tool of this program. Needs no key and no network: the understudy answers.

use converse_host::{Effects, Host, OwnTool};
use serde_json::{Value, json};

struct Dice;

impl OwnTool for Dice {
    const NAME: &'static str = "roll_dice";
    const DESCRIPTION: &'static str = "Rolls a dice with this many sides.";
    const EFFECTS: Effects = Effects::None;

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "sides": { "type": "integer" } }, "required": ["sides"] })
    }

    async fn call(&self, arguments: Value) -> Result<String, String> {
        Ok(format!("a dice with {} sides shows 4", arguments["sides"]))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), converse_host::Failure> {
    let host = Host::builder().model("understudy").tool(Dice).build().await?;
    let reply = host.conversation().start()?.ask("@own.roll_dice sides=6").finish().await?;
    assert!(reply.text.contains("6 sides shows 4"), "{}", reply.text);
    host.close().await
}
