//! The token of a request. Only the header counts: URLs may be logged.

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Maximum bytes of a token. Tokens with many groups have a few kilobytes.
const MAX_BYTES: usize = 16 * 1024;

/// Returns the token of a request. Two headers are refused, because another reader may use the other one.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (first, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = first.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && is_token(token)).then_some(token)
}

/// `b64token` of RFC 6750.
pub(super) fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !body.is_empty() && text.len() <= MAX_BYTES && body.bytes().all(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_in_one_header() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            token(&headers).map(str::to_owned)
        };
        for (values, expected) in [
            (&["Bearer abc"][..], Some("abc")),
            (&["bEARER  a.b-c_d~e+f/g=="], Some("a.b-c_d~e+f/g==")),
            (&[], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Bearer ="], None),
            (&["Basic abc"], None),
            (&["Bearer a b"], None),
            (&["Bearer a\"b"], None),
            (&["Bearer abc", "Bearer abc"], None),
        ] {
            assert_eq!(read(values).as_deref(), expected, "{values:?}");
        }
        assert!(is_token(&"a".repeat(MAX_BYTES)) && !is_token(&"a".repeat(MAX_BYTES + 1)));
    }
}
