//! Why a page may not reach an address, in sentences. A browser gives a page no reason, so nothing
//! here says that a key is bad.

use super::LlmError;
use super::address::{Address, Place};
use super::provider::{LocalServer, Provider};

/// What to check, likeliest first, when a browser refused a call without a reason.
pub fn explain_unreachable(page_origin: &str, base_url: &str) -> Vec<String> {
    let Ok(target) = Address::parse(base_url) else {
        return vec![format!("The address {base_url:?} cannot be read.")];
    };
    if is_mixed_content(page_origin, &target) {
        return vec![mixed_content(page_origin, &target)];
    }
    match target.place() {
        Place::Public => public(&target),
        place => local(page_origin, &target, place),
    }
}

/// Refuses beforehand what a browser will never send: plain http outside this machine from an
/// https page.
pub fn allowed_from(page_origin: &str, base_url: &str) -> Result<(), LlmError> {
    let target = Address::parse(base_url)?;
    if !is_mixed_content(page_origin, &target) {
        return Ok(());
    }
    Err(LlmError::MixedContent {
        page_origin: page_origin.to_owned(),
        base_url: target.base(),
    })
}

/// Loopback counts as secure, whatever its scheme.
fn is_mixed_content(page_origin: &str, target: &Address) -> bool {
    let page_is_secure = page_origin
        .trim()
        .to_ascii_lowercase()
        .starts_with("https://");
    page_is_secure && !target.secure && target.place() != Place::Loopback
}

fn mixed_content(page_origin: &str, target: &Address) -> String {
    format!(
        "{} is plain http outside this machine, and browsers let no page from {page_origin} call \
         it (mixed content). Give the server https, or open this page by http, or run the server \
         on this machine and use http://localhost.",
        target.origin()
    )
}

fn public(target: &Address) -> Vec<String> {
    let provider = Provider::from_url(&target.base());
    let mut reasons = vec![
        format!(
            "{} may be out of reach: check the connection and that the address is spelled right.",
            target.host
        ),
        "The provider may allow no calls from web pages (CORS), or only on success: then a bad \
         key, an unknown model or an empty account look the same from here."
            .to_owned(),
        "An extension, a firewall or a blocker may have stopped the call.".to_owned(),
    ];
    if !target.secure {
        reasons.push("The address is plain http; the provider may want https.".to_owned());
    }
    if !provider.cors_note.is_empty() {
        reasons.push(format!("{}: {}", provider.name, provider.cors_note));
    }
    reasons
}

fn local(page_origin: &str, target: &Address, place: Place) -> Vec<String> {
    let mut steps = Vec::new();
    let page_is_public = Address::parse(page_origin)
        .is_ok_and(|page| page.place() == Place::Public || page.place() != place);
    if page_is_public {
        steps.push(
            "Let this page reach the local network: Chrome 142 and later ask once, and a denied \
             permission is changed behind the sign left of the address."
                .to_owned(),
        );
    }
    steps.push(allow_origin(page_origin, target));
    steps.push(format!(
        "See that the server runs and listens at {}.",
        target.origin()
    ));
    steps
}

/// How the server at this port is told to accept the page.
fn allow_origin(page_origin: &str, target: &Address) -> String {
    let server = Provider::from_url(&target.base()).local;
    match server {
        Some(LocalServer::Ollama) => format!(
            "Let Ollama accept this page: set OLLAMA_ORIGINS={page_origin} and start it again \
             (macOS: launchctl setenv OLLAMA_ORIGINS {page_origin}; Linux: systemctl edit ollama, \
             Environment=OLLAMA_ORIGINS={page_origin}; Windows: a user variable of that name)."
        ),
        Some(LocalServer::LmStudio) => {
            "Switch on CORS in LM Studio's developer tab, or start it by: lms server start --cors."
                .to_owned()
        }
        Some(LocalServer::Vllm) => format!(
            "vLLM accepts all pages unless it was started with --allowed-origins; then add \
             {page_origin} to that list."
        ),
        Some(LocalServer::LlamaCpp) => {
            "llama.cpp's server accepts any page; older builds fail with an --api-key, so start \
             it without one or update it."
                .to_owned()
        }
        None => format!("Let the server accept calls from {page_origin} (CORS)."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://example.github.io";

    #[test]
    fn plain_http_in_the_network_is_refused_beforehand() {
        let cases = [
            (PAGE, "http://192.168.1.20:11434/v1", false),
            (PAGE, "http://nas.local:11434/v1", false),
            (PAGE, "http://api.example.org/v1", false),
            (PAGE, "http://localhost:11434/v1", true),
            (PAGE, "http://127.0.0.1:1234/v1", true),
            (PAGE, "http://[::1]:8080/v1", true),
            (PAGE, "https://192.168.1.20/v1", true),
            (
                "http://localhost:8080",
                "http://192.168.1.20:11434/v1",
                true,
            ),
        ];
        for (page, base, allowed) in cases {
            assert_eq!(allowed_from(page, base).is_ok(), allowed, "{page} {base}");
        }
    }

    #[test]
    fn local_servers_get_three_steps_with_the_pages_origin() {
        let steps = explain_unreachable(PAGE, "http://localhost:11434/v1");
        assert_eq!(steps.len(), 3);
        assert!(steps[0].contains("local network"));
        assert!(steps[1].contains("OLLAMA_ORIGINS=https://example.github.io"));
        let steps = explain_unreachable(PAGE, "http://127.0.0.1:1234/v1");
        assert!(steps[1].contains("--cors"));
    }

    #[test]
    fn a_page_on_this_machine_needs_no_permission() {
        let steps = explain_unreachable("http://localhost:8080", "http://localhost:8000/v1");
        assert_eq!(steps.len(), 2);
        assert!(steps[0].contains("--allowed-origins"));
    }

    #[test]
    fn public_hosts_get_no_local_advice_and_no_word_of_a_bad_key() {
        let reasons = explain_unreachable(PAGE, "https://api.openai.com/v1").join(" ");
        assert!(!reasons.contains("local network") && !reasons.contains("OLLAMA"));
        assert!(!reasons.contains("invalid key"));
        for word in ["connection", "CORS", "extension"] {
            assert!(reasons.contains(word), "{word}");
        }
    }
}
