//! The visitor's key. It leaves only through a provider's `encode`.

use std::fmt;

/// A secret: prints as `[key]`, cannot be serialised, and is readable only inside `llm`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes what a visitor pasted; white space, quotes and a leading `Bearer` are not part of a key.
    /// `None` when nothing is left, or when it holds what no HTTP header can carry.
    pub fn new(pasted: &str) -> Option<Self> {
        let bare = pasted.trim().trim_matches(['"', '\'']).trim();
        let bare = match bare.split_at_checked(7) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer ") => rest.trim(),
            _ => bare,
        };
        let sendable = bare.bytes().all(|byte| byte.is_ascii_graphic());
        (!bare.is_empty() && sendable).then(|| Self(bare.to_owned()))
    }

    pub(in crate::llm) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints() {
        let key = ApiKey::new("sk-secret-1234").expect("a key");
        assert_eq!(format!("{key} {key:?}"), "[key] [key]");
    }

    #[test]
    fn what_is_pasted_is_tidied() {
        let cases = [
            ("  sk-a\n", Some("sk-a")),
            ("\"sk-a\"", Some("sk-a")),
            ("Bearer sk-a", Some("sk-a")),
            ("bearer  sk-a ", Some("sk-a")),
            ("", None),
            ("  ", None),
            ("sk-a sk-b", None),
            ("ключ", None),
            ("sk-a\nX-Evil: 1", None),
        ];
        for (pasted, wanted) in cases {
            let key = ApiKey::new(pasted);
            assert_eq!(key.as_ref().map(ApiKey::expose), wanted, "{pasted:?}");
        }
    }
}
