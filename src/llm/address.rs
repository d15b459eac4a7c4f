//! Addresses as visitors paste them: tidied, and taken apart for advice.
//!
//! Not the `url` crate: it brings the tables of international domain names (hundreds of kilobytes)
//! into the page, for a scheme, a host, a port and a path.

use super::LlmError;
use super::provider::{Dialect, Provider};
use std::net::Ipv4Addr;

/// The parts of an `http` or `https` address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub secure: bool,
    /// In lower case; an IPv6 host keeps its brackets.
    pub host: String,
    pub port: Option<u16>,
    /// Empty, or `/…` without a slash at its end.
    pub path: String,
}

/// Where a host is, seen from the visitor's browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This machine; browsers let even https pages call it by plain http.
    Loopback,
    /// The visitor's own network.
    Private,
    Public,
}

/// Ends of addresses that belong to a request, not to a base.
const ENDPOINTS: [&str; 9] = [
    "/chat/completions",
    "/chat/completion",
    "/completions",
    "/embeddings",
    "/responses",
    "/messages",
    "/models",
    "/chat",
    "/generate",
];

impl Address {
    /// Takes an address with or without its scheme.
    pub fn parse(given: &str) -> Result<Self, LlmError> {
        let text = given.trim().trim_matches(['"', '\'', '<', '>']).trim();
        let (secure, rest) = scheme(text).map_err(|why| bad(given, &why))?;
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = host_and_port(authority).map_err(|why| bad(given, why))?;
        let secure = secure.unwrap_or(place(&host) == Place::Public);
        Ok(Self {
            secure,
            host,
            port,
            path: tidy_path(path),
        })
    }

    /// `scheme://host[:port]`, as browsers write an origin.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        let usual = if self.secure { 443 } else { 80 };
        match self.port {
            Some(port) if port != usual => format!("{scheme}://{}:{port}", self.host),
            _ => format!("{scheme}://{}", self.host),
        }
    }

    pub fn place(&self) -> Place {
        place(&self.host)
    }

    /// The base without a slash at its end.
    pub fn base(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }
}

/// The base of all requests: no slash at the end, no endpoint, the version where one is missing.
pub fn tidy(given: &str, dialect: Dialect) -> Result<String, LlmError> {
    let mut address = Address::parse(given)?;
    address.path = without_endpoint(&address.path);
    if is_local_path(&address) {
        address.path.clear();
    }
    let known = Provider::known_path(&address.host, address.port);
    address.path = match (known, dialect) {
        (Some(known), _) if known.starts_with(&format!("{}/", address.path)) => known,
        (None, _) if !address.path.is_empty() => address.path,
        (None, Dialect::Gemini) => "/v1beta".to_owned(),
        (None, _) => "/v1".to_owned(),
        (Some(_), _) => address.path,
    };
    Ok(address.base())
}

/// Ollama's and LM Studio's own interfaces live under `/api`; ours is beside them.
fn is_local_path(address: &Address) -> bool {
    let own = matches!(address.path.as_str(), "/api" | "/api/v0");
    own && address.place() != Place::Public
}

fn bad(given: &str, why: &str) -> LlmError {
    LlmError::BadAddress {
        given: super::redact::scrub(given.trim(), &[]),
        why: why.to_owned(),
    }
}

type Scheme<'a> = (Option<bool>, &'a str);

fn scheme(text: &str) -> Result<Scheme<'_>, String> {
    let Some((name, rest)) = text.split_once("://") else {
        return Ok((None, text));
    };
    match name.to_ascii_lowercase().as_str() {
        "https" => Ok((Some(true), rest)),
        "http" => Ok((Some(false), rest)),
        other => Err(format!("{other}:// is not http:// or https://")),
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    if authority.contains('@') {
        return Err("names and passwords do not belong into an address");
    }
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority[at..].contains(']') => {
            let (host, port) = authority.split_at(at);
            (host, &port[1..])
        }
        _ => (authority, ""),
    };
    let port = match port {
        "" => None,
        digits => Some(digits.parse().map_err(|_| "the port is no number")?),
    };
    let fits = |c: char| c.is_alphanumeric() || "-._[]:".contains(c);
    if host.is_empty() {
        return Err("it names no host");
    }
    if !host.chars().all(fits) {
        return Err("the host holds characters that no host has");
    }
    Ok((host.to_lowercase(), port))
}

fn tidy_path(path: &str) -> String {
    let parts = path
        .split('/')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(|part| format!("/{part}")).collect()
}

fn without_endpoint(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    // Gemini's own addresses: …/models/NAME:generateContent
    if let Some(at) = lower.find("/models/") {
        return path[..at].to_owned();
    }
    let ends = |end: &&&str| lower.ends_with(**end);
    match ENDPOINTS.iter().find(ends) {
        Some(end) => path[..path.len() - end.len()].to_owned(),
        None => path.to_owned(),
    }
}

fn place(host: &str) -> Place {
    let bare = host.trim_matches(['[', ']']);
    if bare == "localhost" || bare.ends_with(".localhost") || bare == "::1" {
        return Place::Loopback;
    }
    if let Ok(ip) = bare.parse::<Ipv4Addr>() {
        return place_of_ip(ip);
    }
    let local_name = !bare.contains('.') && !bare.contains(':');
    let local_end = [".local", ".lan", ".home", ".internal", ".home.arpa"];
    let unique_local = bare.starts_with("fd") || bare.starts_with("fc") || bare.starts_with("fe80");
    if local_name
        || local_end.iter().any(|end| bare.ends_with(end))
        || (bare.contains(':') && unique_local)
    {
        return Place::Private;
    }
    Place::Public
}

fn place_of_ip(ip: Ipv4Addr) -> Place {
    let [first, second, ..] = ip.octets();
    // 100.64.0.0/10 is what VPNs between own machines use.
    let shared = first == 100 && (64..128).contains(&second);
    if ip.is_loopback() || ip.is_unspecified() {
        Place::Loopback
    } else if ip.is_private() || ip.is_link_local() || shared {
        Place::Private
    } else {
        Place::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &str, expected: &str) {
        assert_eq!(
            tidy(given, Dialect::OpenAi),
            Ok(expected.to_owned()),
            "{given}"
        );
    }

    #[test]
    fn bases_are_the_same_however_pasted() {
        for given in [
            "https://api.openai.com",
            "https://api.openai.com/",
            "https://api.openai.com/v1",
            "https://api.openai.com/v1/",
            " https://api.openai.com/v1/chat/completions ",
            "https://API.openai.com/v1/models",
            "api.openai.com",
            "https://api.openai.com:443/v1?x=1#y",
        ] {
            check(given, "https://api.openai.com/v1");
        }
    }

    #[test]
    fn known_paths_are_completed_and_foreign_ones_kept() {
        check("https://api.groq.com", "https://api.groq.com/openai/v1");
        check(
            "https://api.groq.com/openai",
            "https://api.groq.com/openai/v1",
        );
        check("https://openrouter.ai", "https://openrouter.ai/api/v1");
        check("https://api.deepseek.com", "https://api.deepseek.com");
        check("https://api.deepseek.com/v1", "https://api.deepseek.com/v1");
        check(
            "https://open.bigmodel.cn",
            "https://open.bigmodel.cn/api/paas/v4",
        );
        check("https://example.org/llm/v2", "https://example.org/llm/v2");
        check(
            "https://example.org/llm/chat/completions",
            "https://example.org/llm",
        );
        check("https://example.org", "https://example.org/v1");
    }

    #[test]
    fn local_servers_need_no_scheme() {
        check("localhost:11434", "http://localhost:11434/v1");
        check(
            "http://localhost:11434/api/chat",
            "http://localhost:11434/v1",
        );
        check("http://127.0.0.1:1234/v1/", "http://127.0.0.1:1234/v1");
        check("[::1]:8080", "http://[::1]:8080/v1");
        check("192.168.1.20:11434", "http://192.168.1.20:11434/v1");
    }

    #[test]
    fn other_dialects_have_their_own_versions() {
        let gemini = tidy("https://generativelanguage.googleapis.com", Dialect::Gemini);
        assert_eq!(
            gemini,
            Ok("https://generativelanguage.googleapis.com/v1beta".to_owned())
        );
        let whole =
            "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent?key=x";
        assert_eq!(tidy(whole, Dialect::Gemini), gemini);
        let anthropic = tidy("https://api.anthropic.com/v1/messages", Dialect::Anthropic);
        assert_eq!(anthropic, Ok("https://api.anthropic.com/v1".to_owned()));
    }

    #[test]
    fn what_is_no_address_is_said() {
        for given in [
            "",
            "ftp://x",
            "https://",
            "http://a b/",
            "http://u:p@h/",
            "http://h:99999",
        ] {
            let error = tidy(given, Dialect::OpenAi).expect_err(given);
            assert!(
                matches!(error, LlmError::BadAddress { .. }),
                "{given}: {error}"
            );
        }
    }

    #[test]
    fn places_decide_what_a_browser_allows() {
        let cases = [
            ("localhost", Place::Loopback),
            ("127.0.0.2", Place::Loopback),
            ("[::1]", Place::Loopback),
            ("192.168.1.20", Place::Private),
            ("10.0.0.1", Place::Private),
            ("100.100.1.1", Place::Private),
            ("nas.local", Place::Private),
            ("box", Place::Private),
            ("[fd00::1]", Place::Private),
            ("api.openai.com", Place::Public),
            ("8.8.8.8", Place::Public),
            ("feed.example", Place::Public),
        ];
        for (host, expected) in cases {
            assert_eq!(place(host), expected, "{host}");
        }
    }
}
