//! Filling a template: `{{name}}` becomes its value, in one pass, so that text put in is never
//! read as a template itself.

/// A template file: the system message, a line `---`, the user's message.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub id: &'static str,
    pub title: &'static str,
    pub text: &'static str,
}

impl Template {
    /// System and user part, unfilled.
    pub fn parts(&self) -> (&'static str, &'static str) {
        parts(self.text)
    }

    /// Names that stand in double braces, in order.
    pub fn names(&self) -> Vec<&'static str> {
        names(self.text)
    }
}

/// System and user part of a template's text, unfilled.
pub fn parts(text: &str) -> (&str, &str) {
    match text.strip_prefix("---\n") {
        Some(user) => ("", user.trim()),
        None => {
            let (system, user) = text.split_once("\n---\n").unwrap_or(("", text));
            (system.trim(), user.trim())
        }
    }
}

/// Names that stand in double braces, in order.
pub fn names(text: &str) -> Vec<&str> {
    let after_open = text.split("{{").skip(1);
    after_open
        .filter_map(|rest| rest.split_once("}}").map(|(name, _)| name))
        .collect()
}

/// Puts `values` in. Names without a value stay as they are.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let found = after.split_once("}}").and_then(|(name, tail)| {
            values
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value, tail))
        });
        match found {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_one_pass() {
        let cases: [(&str, &[(&str, &str)], &str); 4] = [
            ("a {{x}} b", &[("x", "1")], "a 1 b"),
            ("{{x}}{{y}}", &[("x", "{{y}}"), ("y", "2")], "{{y}}2"),
            ("{{z}} {{x}}", &[("x", "1")], "{{z}} 1"),
            ("{{x", &[("x", "1")], "{{x"),
        ];
        for (template, values, wanted) in cases {
            assert_eq!(fill(template, values), wanted, "{template}");
        }
    }
}
