//! A request for display: unchanged except for large binary data, which is only counted.

use std::collections::HashSet;

use converse_canister::{Blobs, Canister, Content};
use serde_json::Value;

/// Characters of base64 that are shown unchanged.
const MAX_SHOWN: usize = 1024;

/// Replaces the base64 of blobs in the view by `…N bytes of base64…`, alone or at the end of a data URL.
pub fn without_blobs(request: &mut Value, view: &[Canister], blobs: &dyn Blobs) {
    let contents = view.iter().flat_map(|canister| match canister {
        Canister::User(user) => user.content.as_slice(),
        Canister::Document(document) => &document.content,
        Canister::Result(result) => &result.content,
        _ => &[],
    });
    let bytes = contents.filter_map(|content| match content {
        Content::Blob { digest, .. } => blobs.bytes(digest),
        _ => None,
    });
    let lengths: HashSet<usize> = bytes.map(|bytes| bytes.len().div_ceil(3) * 4).collect();
    if !lengths.is_empty() {
        walk(request, &lengths);
    }
}

fn walk(value: &mut Value, lengths: &HashSet<usize>) {
    match value {
        Value::String(text) => {
            let begin = text.find(";base64,").map_or(0, |at| at + ";base64,".len());
            let (head, base64) = text.split_at(begin);
            let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            if base64.len() > MAX_SHOWN && lengths.contains(&base64.len()) && base64.bytes().all(is_base64) {
                *text = format!("{head}…{} bytes of base64…", base64.len());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| walk(item, lengths)),
        Value::Object(object) => object.values_mut().for_each(|item| walk(item, lengths)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use converse_canister::{Digest, User};
    use serde_json::json;

    use super::*;

    struct One(usize);

    impl Blobs for One {
        fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
            Some(vec![0; self.0].into())
        }
    }

    fn shown(bytes: usize, mut request: Value) -> Value {
        let blob =
            Content::Blob { mime: "image/png".to_owned(), digest: Digest([0; 32]), name: None, seal: None };
        let view = [Canister::User(User { content: vec![blob] })];
        without_blobs(&mut request, &view, &One(bytes));
        request
    }

    #[test]
    fn only_the_bytes_of_blobs_are_counted_instead_of_shown() {
        let (base64, other) = ("A".repeat(4000), "A".repeat(4004));
        let url = format!("data:image/png;base64,{base64}");
        let request =
            json!({ "a": [{ "data": base64, "url": url }], "signature": other, "text": "x ".repeat(2000) });
        let mut expected = request.clone();
        expected["a"][0] = json!({
            "data": "…4000 bytes of base64…",
            "url": "data:image/png;base64,…4000 bytes of base64…",
        });
        assert_eq!(shown(2998, request), expected);
        let small = json!({ "data": "A".repeat(1024) });
        assert_eq!(shown(766, small.clone()), small);
    }
}
