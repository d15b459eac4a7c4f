//! Addresses of datasets as people paste them, and what a page may load from where.

/// The manifest's address for what a visitor pasted: the manifest itself, its folder, or the page
/// of either on GitHub or Hugging Face (those pages may not be read by other sites, the files
/// behind them may). `None` when it is no http address.
pub fn manifest_address(pasted: &str) -> Option<String> {
    let address = pasted.trim();
    let address = if address.contains("://") {
        address.to_owned()
    } else {
        format!("https://{address}")
    };
    let (scheme, rest) = address.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let (rest, query) = split_query(rest);
    let host = rest.split('/').next().unwrap_or_default();
    let named = host.contains('.') || host.contains(':') || host == "localhost";
    if !matches!(scheme.as_str(), "http" | "https") || !named || rest.contains(char::is_whitespace)
    {
        return None;
    }
    let file = with_manifest(&raw_file(rest));
    Some(format!("{scheme}://{file}{query}"))
}

/// Whether a page of that origin may not even try the address: plain http from a secure page.
/// This machine's own servers are exempt.
pub fn is_mixed_content(page_is_secure: bool, address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else {
        return false;
    };
    page_is_secure && !is_loopback(host(rest))
}

/// `localhost`, its subdomains and the loopback addresses.
pub fn is_loopback(host: &str) -> bool {
    let local_name = host == "localhost" || host.ends_with(".localhost");
    local_name || host == "[::1]" || host.starts_with("127.")
}

/// Host without user and port of what follows `://`.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

/// Path, and query with its `?`; a fragment is dropped.
fn split_query(rest: &str) -> (&str, &str) {
    let rest = rest.split('#').next().unwrap_or_default();
    match rest.find('?') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    }
}

/// From the page that shows a file or folder to where its bytes are.
fn raw_file(rest: &str) -> String {
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["github.com", owner, repo, "blob" | "tree", path @ ..] => {
            format!(
                "raw.githubusercontent.com/{owner}/{repo}/{}",
                path.join("/")
            )
        }
        [
            "huggingface.co",
            "datasets",
            owner,
            name,
            "blob" | "tree",
            path @ ..,
        ] => {
            format!(
                "huggingface.co/datasets/{owner}/{name}/resolve/{}",
                path.join("/")
            )
        }
        _ => rest.to_owned(),
    }
}

fn with_manifest(rest: &str) -> String {
    let last = rest.rsplit('/').next().unwrap_or_default();
    let names_file = rest.contains('/') && last.ends_with(".json");
    if names_file {
        rest.to_owned()
    } else {
        format!("{}/manifest.json", rest.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_addresses_become_manifests() {
        let cases = [
            (
                "https://a.org/d/manifest.json",
                Some("https://a.org/d/manifest.json"),
            ),
            (
                "  https://a.org/d/  ",
                Some("https://a.org/d/manifest.json"),
            ),
            ("https://a.org/d", Some("https://a.org/d/manifest.json")),
            ("a.org", Some("https://a.org/manifest.json")),
            (
                "HTTP://localhost:8000/d",
                Some("http://localhost:8000/d/manifest.json"),
            ),
            (
                "https://a.org/d/?v=2#x",
                Some("https://a.org/d/manifest.json?v=2"),
            ),
            (
                "https://a.org/d/m.v2.json?t=1",
                Some("https://a.org/d/m.v2.json?t=1"),
            ),
            (
                "https://github.com/o/r/blob/main/d/manifest.json",
                Some("https://raw.githubusercontent.com/o/r/main/d/manifest.json"),
            ),
            (
                "https://github.com/o/r/tree/main/d",
                Some("https://raw.githubusercontent.com/o/r/main/d/manifest.json"),
            ),
            (
                "https://huggingface.co/datasets/o/n/blob/main/manifest.json",
                Some("https://huggingface.co/datasets/o/n/resolve/main/manifest.json"),
            ),
            ("ftp://a.org/d", None),
            ("file:///home/d", None),
            ("my dataset", None),
            ("", None),
        ];
        for (pasted, want) in cases {
            assert_eq!(manifest_address(pasted).as_deref(), want, "{pasted}");
        }
    }

    /// Which plain-http addresses browsers block: W3C "Mixed Content" and "Secure Contexts".
    #[test]
    fn secure_pages_reach_plain_http_only_on_this_machine() {
        let cases = [
            ("http://localhost:11434/v1", false),
            ("http://127.0.0.1:1234/v1", false),
            ("http://[::1]:8080/v1", false),
            ("http://192.168.1.20:11434/v1", true),
            ("http://localhost.evil.org/", true),
            ("http://user@a.org:80/", true),
            ("https://a.org/", false),
        ];
        for (address, want) in cases {
            assert_eq!(is_mixed_content(true, address), want, "{address}");
            assert!(!is_mixed_content(false, address), "{address}");
        }
    }
}
