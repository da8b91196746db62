//! One line for each client and transport.

use std::time::Duration;

use serde_json::Value;

/// What one client saw over one transport.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) client: &'static str,
    pub(crate) way: &'static str,
    pub(crate) said: Value,
    pub(crate) took: Duration,
    pub(crate) failures: Vec<String>,
}

impl Seen {
    fn line(&self) -> String {
        let number =
            |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
        let tools = self.said["tools"].as_array().map_or(0, Vec::len);
        let verdict = if self.failures.is_empty() { "ok" } else { "failed" };
        let (revision, progress) =
            (self.said["protocol"].as_str().unwrap_or("-"), number(&self.said["progress"]));
        let (many, took) = (number(&self.said["many_ms"]), self.took.as_secs_f64());
        format!(
            "{:<12}  {:<5}  {revision:<10}  {tools:>5}  {progress:>8}  {many:>11}  {took:>5.1}  {verdict}\n",
            self.client, self.way
        )
    }
}

pub(crate) fn table(seen: &[Seen]) -> String {
    let head = "client        way    revision    tools  progress  20 calls ms      s  verdict\n".to_owned();
    seen.iter().fold(head, |text, one| text + &one.line())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let said = json!({ "tools": ["a", "b"], "protocol": "2026-07-28", "progress": 3, "many_ms": 1020 });
        let took = Duration::from_millis(4210);
        let good = Seen { client: "typescript-2", way: "http", said, took, failures: vec![] };
        let bad =
            Seen { client: "python-1", way: "stdio", said: Value::Null, took, failures: vec![String::new()] };
        assert_eq!(
            table(&[good, bad]),
            "client        way    revision    tools  progress  20 calls ms      s  verdict\n\
             typescript-2  http   2026-07-28      2         3         1020    4.2  ok\n\
             python-1      stdio  -               0         -            -    4.2  failed\n"
        );
    }
}
