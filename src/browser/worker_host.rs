//! Serves the engine in a dedicated worker: messages in, steps, messages out. The page's side is
//! `worker_client`; the wire is described in [`crate::worker::protocol`].

use crate::worker::engine::{Engine, Outgoing};
use crate::worker::protocol::{Event, FromWorker};
use js_sys::{Array, ArrayBuffer, JsString, Object, Reflect, Uint8Array};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent};

/// How long steps run before waiting messages are let in.
const SLICE_MS: f64 = 8.0;

/// The engine and its ways out.
struct Host {
    scope: DedicatedWorkerGlobalScope,
    engine: RefCell<Engine>,
    /// A message through it comes back after those that already wait, without the delay that
    /// browsers add to nested timers.
    loopback: MessageChannel,
    /// Whether a message is on its way through `loopback`.
    woken: Cell<bool>,
}

/// Serves an engine until the worker is terminated. Call it once, from the worker's `main`.
pub fn serve() -> Result<(), JsValue> {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    report_panics(scope.clone());
    let engine = Engine::new(env!("CARGO_PKG_VERSION"), js_sys::Date::now);
    let host = Rc::new(Host {
        scope,
        engine: RefCell::new(engine.telling(tell)),
        loopback: MessageChannel::new()?,
        woken: Cell::new(false),
    });
    host.listen();
    let greeting = host.engine.borrow().greeting();
    host.send(greeting);
    Ok(())
}

impl Host {
    fn listen(self: &Rc<Self>) {
        let host = self.clone();
        let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            host.receive(&event)
        });
        self.scope
            .set_onmessage(Some(receive.into_js_value().unchecked_ref()));
        let host = self.clone();
        let wake = Closure::<dyn FnMut()>::new(move || host.work());
        self.loopback
            .port1()
            .set_onmessage(Some(wake.into_js_value().unchecked_ref()));
    }

    fn receive(&self, event: &MessageEvent) {
        let (json, buffers) = open(&event.data());
        let out = self.engine.borrow_mut().accept_json(&json, buffers);
        out.into_iter().for_each(|message| self.send(message));
        self.wake();
    }

    /// One slice of steps; at least one, whatever it takes.
    fn work(&self) {
        self.woken.set(false);
        let until = js_sys::Date::now() + SLICE_MS;
        loop {
            let out = self.engine.borrow_mut().step();
            out.into_iter().for_each(|message| self.send(message));
            if self.engine.borrow().idle() || js_sys::Date::now() >= until {
                break;
            }
        }
        self.wake();
    }

    /// Comes back to [`Host::work`] when there is something to do.
    fn wake(&self) {
        if !self.engine.borrow().idle() && !self.woken.replace(true) {
            // Posting null copies nothing and so cannot fail.
            let _ = self.loopback.port2().post_message(&JsValue::NULL);
        }
    }

    fn send(&self, outgoing: Outgoing) {
        post(&self.scope, &outgoing.message, outgoing.buffers);
    }
}

/// The two halves of a message; what is missing is empty, and the engine then says so.
fn open(data: &JsValue) -> (String, Vec<Vec<u8>>) {
    let field = |name: &str| Reflect::get(data, &name.into()).unwrap_or_default();
    let json = field("json").as_string().unwrap_or_default();
    let buffers = field("buffers").dyn_into::<Array>().unwrap_or_default();
    let bytes = |buffer: JsValue| Uint8Array::new(&buffer).to_vec();
    (
        json,
        buffers
            .iter()
            .filter(|buffer| buffer.is_instance_of::<ArrayBuffer>())
            .map(bytes)
            .collect(),
    )
}

fn post(scope: &DedicatedWorkerGlobalScope, message: &FromWorker, buffers: Vec<Vec<u8>>) {
    let json = serde_json::to_string(message).expect("messages have string keys only");
    let buffers: Array = buffers
        .iter()
        .map(|bytes| Uint8Array::from(bytes.as_slice()).buffer())
        .collect();
    let envelope = Object::new();
    for (name, value) in [
        ("json", JsString::from(json).into()),
        ("buffers", buffers.clone().into()),
    ] {
        Reflect::set(&envelope, &name.into(), &value).expect("a fresh object takes any field");
    }
    if let Err(error) = scope.post_message_with_transfer(&envelope, &buffers) {
        wasm_bindgen::throw_val(error);
    }
}

/// Posts in the middle of a step; the page hears it at once.
fn tell(message: FromWorker) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    post(&scope, &message, Vec::new());
}

/// A panic ends this program; the page hears of it and can start another worker.
fn report_panics(scope: DedicatedWorkerGlobalScope) {
    std::panic::set_hook(Box::new(move |info| {
        console_error_panic_hook::hook(info);
        let event = Event::Crashed {
            message: format!("the engine stopped unexpectedly: {info}"),
        };
        post(&scope, &FromWorker { id: 0, event }, Vec::new());
    }));
}
