//! The length of JSON text.

use serde_json::Value;

/// Returns the length of the JSON text of a value in bytes, without building it.
pub fn json_length(value: &Value) -> usize {
    let mut count = Count(0);
    // Counting cannot fail, and neither can writing a value.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts the written bytes and stores nothing.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_is_that_of_the_text() {
        for value in
            [json!(null), json!("\u{e9} \" \n"), json!([1.5, -2, true]), json!({ "a": { "b": [{}] } })]
        {
            assert_eq!(json_length(&value), value.to_string().len(), "{value}");
        }
    }
}
