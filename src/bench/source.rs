//! Addresses of datasets as people paste them.

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
}
