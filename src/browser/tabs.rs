//! Word between the tabs of this site: a run that was saved in one is told to the others.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{BroadcastChannel, MessageEvent};

const NAME: &str = "iba-lab runs";

/// The line to the other tabs, open until it is dropped. In browsers without one, nothing is heard.
pub struct Tabs {
    channel: Option<BroadcastChannel>,
    _heard: Closure<dyn FnMut(MessageEvent)>,
}

impl Tabs {
    /// Opens the line; `heard` is called with the id of a run that another tab has saved.
    pub fn open(heard: impl Fn(String) + 'static) -> Self {
        let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(id) = event.data().as_string() {
                heard(id);
            }
        });
        let channel = BroadcastChannel::new(NAME).ok();
        if let Some(channel) = &channel {
            channel.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        }
        Self {
            channel,
            _heard: heard,
        }
    }

    /// Says that a run was saved.
    pub fn tell(&self, run: &str) {
        if let Some(channel) = &self.channel {
            // Only a closed line refuses, and this one is open.
            let _ = channel.post_message(&run.into());
        }
    }
}

impl Drop for Tabs {
    fn drop(&mut self) {
        if let Some(channel) = &self.channel {
            channel.close();
        }
    }
}
