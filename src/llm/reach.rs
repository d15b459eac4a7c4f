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

/// What a second request, whose answer no page may read, showed about a server that gave none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Something answers there.
    Answered,
    /// Nothing does, or the browser lets nothing through.
    Silent,
}

/// The reasons again, now that it is known whether anything answers at the address and whether the
/// device has a network. Still no word of a bad key: nobody could read an answer about it.
pub fn after_probe(page_origin: &str, base_url: &str, probe: Probe, online: bool) -> Vec<String> {
    let Ok(target) = Address::parse(base_url) else {
        return explain_unreachable(page_origin, base_url);
    };
    let is_local = target.place() != Place::Public;
    match probe {
        Probe::Answered if is_local => vec![
            format!(
                "A server answers at {}, but keeps its answer from this page.",
                target.origin()
            ),
            allow_origin(page_origin, &target),
        ],
        Probe::Answered => {
            let provider = Provider::from_url(&target.base());
            let mut reasons = vec![format!(
                "{} is reached, but its answer may not be read by a page (CORS).",
                target.host
            )];
            reasons.push(
                "Some providers allow pages to read successes only: then an unknown model, a wrong \
                 key or an empty account look like this. Check them in the provider's own console, \
                 or take a provider that lets pages read all answers, such as OpenRouter."
                    .to_owned(),
            );
            if !provider.cors_note.is_empty() {
                reasons.push(format!("{}: {}", provider.name, provider.cors_note));
            }
            reasons
        }
        Probe::Silent if !online && !is_local => {
            vec!["This device is offline. Connect it, then test again.".to_owned()]
        }
        Probe::Silent if is_local => explain_unreachable(page_origin, base_url),
        Probe::Silent => {
            let mut reasons = vec![format!(
                "Nothing answers at {}: the address may be misspelled, the server down, or a \
                 firewall, an extension or a blocker in between.",
                target.origin()
            )];
            let rest = explain_unreachable(page_origin, base_url)
                .into_iter()
                .skip(3);
            reasons.extend(rest);
            reasons
        }
    }
}

/// One step of setting up a server on the visitor's own machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub text: String,
    /// Commands to copy, each with where it is for.
    pub commands: Vec<(&'static str, String)>,
}

impl Step {
    fn new(text: impl Into<String>, commands: Vec<(&'static str, String)>) -> Self {
        let text = text.into();
        Self { text, commands }
    }
}

/// How a page of this very address is let in by the server of a local row: start it, allow the page,
/// answer the browser's question. Empty for servers of the public network.
pub fn local_help(page_origin: &str, base_url: &str) -> Vec<Step> {
    let Ok(target) = Address::parse(base_url) else {
        return Vec::new();
    };
    if target.place() == Place::Public {
        return Vec::new();
    }
    if is_mixed_content(page_origin, &target) {
        return vec![Step::new(mixed_content(page_origin, &target), Vec::new())];
    }
    let server = Provider::from_url(&target.base()).local;
    let mut steps: Vec<Step> = start(server).into_iter().collect();
    steps.push(allow(page_origin, server));
    let page = Address::parse(page_origin);
    if page.is_ok_and(|page| page.place() == Place::Public) {
        steps.push(Step::new(
            "When you test, Chrome 142 and later ask whether this page may reach devices on your \
             local network: allow it. A denied permission is changed behind the sign left of the \
             address.",
            Vec::new(),
        ));
    }
    if server == Some(LocalServer::Ollama) {
        steps.push(Step::new(
            "Ollama cuts the front of prompts that do not fit its window, and its window is small \
             by default. Make it larger; answers to prompts that were cut are flagged here.",
            vec![(
                "shell",
                "OLLAMA_CONTEXT_LENGTH=32768 ollama serve".to_owned(),
            )],
        ));
    }
    steps
}

fn start(server: Option<LocalServer>) -> Option<Step> {
    let (text, command) = match server? {
        LocalServer::Ollama => ("Have a model, and Ollama running.", "ollama pull qwen3:8b"),
        LocalServer::LmStudio => (
            "Load a model in LM Studio and start its server.",
            "lms server start --cors",
        ),
        LocalServer::LlamaCpp => (
            "Start the server with a model.",
            "llama-server -m model.gguf --port 8080 --jinja",
        ),
        LocalServer::Vllm => ("Start vLLM with a model.", "vllm serve Qwen/Qwen3-8B"),
    };
    Some(Step::new(text, vec![("shell", command.to_owned())]))
}

fn allow(page_origin: &str, server: Option<LocalServer>) -> Step {
    match server {
        Some(LocalServer::Ollama) => Step::new(
            format!("Let Ollama answer this page ({page_origin}), then start it again."),
            vec![
                (
                    "Linux, macOS",
                    format!("OLLAMA_ORIGINS={page_origin} ollama serve"),
                ),
                (
                    "macOS app",
                    format!("launchctl setenv OLLAMA_ORIGINS {page_origin}"),
                ),
                ("Windows", format!("setx OLLAMA_ORIGINS {page_origin}")),
            ],
        ),
        Some(LocalServer::LmStudio) => Step::new(
            "CORS has to be on: the flag above does it, or the switch in the developer tab.",
            Vec::new(),
        ),
        Some(LocalServer::LlamaCpp) => Step::new(
            "The server accepts any page. Older builds refuse the browser's first question when \
             started with --api-key: start it without one, or update it.",
            Vec::new(),
        ),
        Some(LocalServer::Vllm) => Step::new(
            "vLLM accepts any page unless it was told otherwise; then name this one.",
            vec![("flag", format!("--allowed-origins '[\"{page_origin}\"]'"))],
        ),
        None => Step::new(
            format!(
                "The server has to allow calls from {page_origin} (CORS): the headers \
                 Authorization and Content-Type, and the methods GET and POST."
            ),
            Vec::new(),
        ),
    }
}

/// Names of `known` that are likely meant by `model`, best first, at most three.
pub fn similar<'a>(model: &str, known: &'a [String]) -> Vec<&'a str> {
    let plain = |name: &str| -> Vec<char> {
        let kept = name.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(model);
    let distance = |name: &&String| {
        let own = plain(name);
        let within = own.windows(wanted.len().max(1)).any(|part| part == wanted);
        match within {
            true => 0,
            false => edits(&wanted, &own),
        }
    };
    let mut near: Vec<(usize, &String)> =
        known.iter().map(|name| (distance(&name), name)).collect();
    near.retain(|(far, _)| *far * 3 <= wanted.len());
    near.sort();
    near.into_iter()
        .take(3)
        .map(|(_, name)| name.as_str())
        .collect()
}

/// Levenshtein's distance.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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

    #[test]
    fn a_probe_tells_a_silent_server_from_one_that_keeps_its_answer() {
        let openai = "https://api.openai.com/v1";
        let answered = after_probe(PAGE, openai, Probe::Answered, true).join(" ");
        assert!(answered.contains("is reached") && answered.contains("CORS"));
        let silent = after_probe(PAGE, openai, Probe::Silent, true).join(" ");
        assert!(silent.contains("Nothing answers") && !silent.contains("CORS"));
        let offline = after_probe(PAGE, openai, Probe::Silent, false);
        assert_eq!(offline.len(), 1);
        assert!(offline[0].contains("offline"));
        for reasons in [&answered, &silent] {
            assert!(
                !reasons.contains("invalid key") && !reasons.contains("bad key"),
                "{reasons}"
            );
        }
        let ollama = "http://localhost:11434/v1";
        let kept = after_probe(PAGE, ollama, Probe::Answered, true).join(" ");
        assert!(
            kept.contains("OLLAMA_ORIGINS=https://example.github.io"),
            "{kept}"
        );
        let down = after_probe(PAGE, ollama, Probe::Silent, false).join(" ");
        assert!(
            down.contains("See that the server runs"),
            "loopback needs no network: {down}"
        );
    }

    #[test]
    fn local_servers_get_steps_for_the_pages_own_address() {
        let steps = local_help(PAGE, "http://localhost:11434/v1");
        let commands: Vec<String> = steps
            .iter()
            .flat_map(|step| step.commands.iter().map(|(_, text)| text.clone()))
            .collect();
        let wanted = "OLLAMA_ORIGINS=https://example.github.io ollama serve";
        assert!(
            commands.iter().any(|command| command == wanted),
            "{commands:?}"
        );
        assert!(steps.iter().any(|step| step.text.contains("local network")));
        let from_home = local_help("http://localhost:8080", "http://localhost:1234/v1");
        assert!(
            !from_home
                .iter()
                .any(|step| step.text.contains("local network"))
        );
        let mixed = local_help(PAGE, "http://192.168.1.20:11434/v1");
        assert!(mixed.len() == 1 && mixed[0].text.contains("mixed content"));
        assert!(local_help(PAGE, "https://api.openai.com/v1").is_empty());
    }

    #[test]
    fn names_that_are_nearly_right_are_offered() {
        let known = ["gpt-4o-mini", "gpt-4.1-mini", "qwen3:8b", "o3"].map(str::to_owned);
        let table: [(&str, &[&str]); 4] = [
            ("gpt4o-mini", &["gpt-4o-mini", "gpt-4.1-mini"]),
            ("qwen3", &["qwen3:8b"]),
            ("claude", &[]),
            ("GPT-4O-MINI", &["gpt-4o-mini", "gpt-4.1-mini"]),
        ];
        for (model, expected) in table {
            assert_eq!(similar(model, &known), expected, "{model}");
        }
    }
}
