//! A key: typed or pasted, kept in memory, and on this device only when asked for, encrypted.

use crate::browser::{secrets, signin};
use crate::llm::{ApiKey, openrouter};
use crate::ui::keys::host;
use crate::ui::parts::{Field, Problem};
use crate::ui::state::lab;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

#[component]
pub fn KeyField(
    name: &'static str,
    base_url: Signal<String>,
    needed: Signal<bool>,
    hint: Signal<&'static str>,
) -> impl IntoView {
    let lab = lab();
    let shown = RwSignal::new(false);
    // With the host it was typed for: at another address the field starts empty.
    let typed = RwSignal::new((String::new(), String::new()));
    let wrong = RwSignal::new(false);
    let has = move || lab.keys.has(&base_url.get());
    let take = move |text: String| {
        let url = base_url.get_untracked();
        let is_key = lab.keys.set(&url, &text);
        if !is_key {
            lab.keys.forget(&url);
        }
        wrong.set(!is_key && !text.trim().is_empty());
        typed.set((host(&url), text));
    };
    let forget = move |_| take(String::new());
    let typed = Signal::derive(move || {
        let here = host(&base_url.get());
        typed.with(|(host, text)| {
            if *host == here {
                text.clone()
            } else {
                String::new()
            }
        })
    });
    let about = move || match (has(), wrong.get(), needed.get()) {
        (_, true, _) => {
            "That is no key: it is one word of letters, digits and signs, without spaces."
                .to_owned()
        }
        (true, ..) => "Held in memory until this tab is closed.".to_owned(),
        (false, _, true) => hint.get().to_owned(),
        (false, _, false) => "This server usually needs none.".to_owned(),
    };
    let id = format!("{name}-key");
    view! {
        <Field id=id.clone() label="Key">
            <div class="row">
                <input
                    id=id
                    class="grow"
                    type=move || if shown.get() { "text" } else { "password" }
                    autocomplete="off"
                    spellcheck="false"
                    data-1p-ignore=""
                    data-lpignore="true"
                    placeholder=move || if has() { "a key is held" } else { "paste it here" }
                    prop:value=typed
                    on:input=move |ev| take(event_target_value(&ev))
                />
                <button type="button" class="button" aria-pressed=move || shown.get().to_string() on:click=move |_| shown.update(|shown| *shown = !*shown)>
                    {move || if shown.get() { "Hide" } else { "Show" }}
                </button>
                <button type="button" class="button" disabled=move || !has() on:click=forget>"Forget"</button>
            </div>
            <p class="muted small" aria-live="polite">{about}</p>
            <SignIn base_url=base_url />
            <Keep name=name base_url=base_url typed=typed />
        </Field>
    }
}

/// OpenRouter gives a key to who signs in there; nothing has to be copied.
#[component]
fn SignIn(base_url: Signal<String>) -> impl IntoView {
    let lab = lab();
    let offered = move || host(&base_url.get()) == host(openrouter::BASE_URL);
    let leave = move |_| {
        if let Err(error) = signin::leave() {
            lab.notices.bad(Problem::new(&error, None::<&str>));
        }
    };
    view! {
        <Show when=move || offered() && !lab.keys.has(&base_url.get())>
            <p>
                <button type="button" class="button" on:click=leave>"Sign in with OpenRouter"</button>
                <span class="muted small">" Leaves this page and comes back with a key for this tab."</span>
            </p>
        </Show>
    }
}

/// Keeps a key on this device under a passphrase, unlocks it, or forgets it.
#[component]
fn Keep(name: &'static str, base_url: Signal<String>, typed: Signal<String>) -> impl IntoView {
    let lab = lab();
    let phrase = NodeRef::<html::Input>::new();
    let changed = RwSignal::new(0_u32);
    let said = RwSignal::new(None::<String>);
    let slot = move || format!("key {}", host(&base_url.get_untracked()));
    let kept = LocalResource::new(move || {
        changed.track();
        base_url.track();
        let (edge, slot) = (lab.edge.get(), slot());
        async move {
            match edge {
                Some(edge) => secrets::is_kept(&edge.store, &slot).await,
                None => false,
            }
        }
    });
    let is_kept = move || kept.get().unwrap_or(false);
    let passphrase = move || {
        phrase
            .get_untracked()
            .map(|input| input.value())
            .unwrap_or_default()
    };
    let finish = move |outcome: Result<&'static str, secrets::SecretError>| {
        let text = outcome.map_or_else(
            |error| Problem::new(&error, None::<&str>).text,
            str::to_owned,
        );
        let _ = said.try_set(Some(text)); // the form may be gone by now
        let _ = changed.try_update(|changed| *changed += 1);
        if let Some(input) = phrase.try_get_untracked().flatten() {
            input.set_value("");
        }
    };
    let keep = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let (slot, secret, passphrase) = (slot(), typed.get_untracked(), passphrase());
        if ApiKey::new(&secret).is_none() {
            return said.set(Some("Paste the key first.".to_owned()));
        }
        spawn_local(async move {
            let kept = secrets::keep(&edge.store, &slot, secret.trim(), &passphrase).await;
            finish(kept.map(|()| "Kept on this device, encrypted with your passphrase."));
        });
    };
    let unlock = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let (slot, passphrase, url) = (slot(), passphrase(), base_url.get_untracked());
        spawn_local(async move {
            let opened = secrets::unlock(&edge.store, &slot, &passphrase).await;
            finish(opened.map(|secret| {
                lab.keys.set(&url, &secret);
                "Unlocked for this tab."
            }));
        });
    };
    let forget = move |_| {
        let Some(edge) = lab.edge.get_untracked() else {
            return;
        };
        let slot = slot();
        spawn_local(async move {
            secrets::forget(&edge.store, &slot).await;
            finish(Ok("Forgotten."));
        });
    };
    let title = move || {
        if is_kept() {
            "A key is kept on this device"
        } else {
            "Keep it on this device"
        }
    };
    let id = format!("{name}-passphrase");
    view! {
        <details class="keep">
            <summary><Suspense fallback=|| "Keep it on this device">{title}</Suspense></summary>
            <div class="field">
                <label for=id.clone()>"Passphrase"</label>
                <div class="row">
                    <input id=id class="grow" type="password" autocomplete="off" node_ref=phrase />
                    <button type="button" class="button" hidden=is_kept on:click=keep>"Keep"</button>
                    <button type="button" class="button" hidden=move || !is_kept() on:click=unlock>"Unlock"</button>
                    <button type="button" class="button" hidden=move || !is_kept() on:click=forget>"Forget"</button>
                </div>
                <p class="muted small">"The key is encrypted with it; without it nobody can read the key, you included."</p>
                <p class="small" aria-live="polite">{said}</p>
            </div>
        </details>
    }
}
