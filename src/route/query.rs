//! The query of an address, and the escapes of addresses.

/// Names and values in the order of the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// Every value of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs()
            .filter(move |(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// Names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Removes a name and gives its first value.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let found = self.get(name).map(str::to_owned);
        self.0.retain(|(n, _)| n != name);
        found
    }

    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    pub(super) fn write(&self) -> String {
        let pairs: Vec<String> = self
            .pairs()
            .map(|(n, v)| format!("{}={}", encode(n), encode(v)))
            .collect();
        pairs.join("&")
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Query {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

/// Percent-encodes what would end a name, a value or a step of a path.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b',' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes [`encode`]; a broken escape stands for itself, and `+` is a space as forms write it.
pub(super) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| hex(bytes.get(at + 1..at + 3)?))
            .flatten();
        match escaped {
            Some(byte) => out.push(byte),
            None if bytes[at] == b'+' => out.push(b' '),
            None => out.push(bytes[at]),
        }
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then_some(())?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_escapes_stand_for_themselves() {
        for (text, read) in [
            ("100%", "100%"),
            ("%zz", "%zz"),
            ("a+b", "a b"),
            ("%+1", "% 1"),
            ("%E4", "\u{fffd}"),
        ] {
            assert_eq!(decode(text), read);
        }
    }
}
