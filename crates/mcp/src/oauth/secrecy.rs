//! What of a token may be taken out of everything that is shown. An authorization server chooses its tokens: one that
//! is an ordinary word would blank that word wherever anybody says it.

const LEAST: usize = 12;
/// So long no word is that anybody says.
const LONG: usize = 24;

/// Is it told from ordinary text? Redaction goes by beginnings as well, so an address is ordinary however it goes on.
pub(super) fn is_redactable(secret: &str) -> bool {
    let is_word =
        |secret: &str| secret.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.".contains(&byte));
    secret.len() >= LEAST && !secret.contains("://") && (secret.len() >= LONG || !is_word(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_anybody_says_are_no_secrets() {
        for (secret, telling) in [
            ("https://", false),
            ("https://api.example.com/v1", false),
            ("the", false),
            ("abc1234567", false),
            ("authorization", false),
            ("access_token", false),
            ("canary-code-1", true),
            ("gho_16C7e42F292c6912E7710c838347Ae178B4a", true),
            ("eyJhbGciOiJub25lIn0.e30.", true),
            ("abcdefghijklmnopqrstuvwx", true),
        ] {
            assert_eq!(is_redactable(secret), telling, "{secret}");
        }
    }
}
