// Starts the page. A classic script in the head, so that a chosen theme is there before the first
// paint; a file of its own, so that the policy can forbid inline scripts.
(() => {
  const { js, wasm } = document.currentScript.dataset;
  const root = document.documentElement;
  const RELOADED = "iba-lab.reloaded";
  // Where a window has no storage (private ones of some browsers), how it was opened tells as much.
  const reloaded = {
    get() {
      try {
        return sessionStorage.getItem(RELOADED);
      } catch {
        return performance.getEntriesByType("navigation")[0]?.type === "reload";
      }
    },
    set() {
      try {
        sessionStorage.setItem(RELOADED, "1");
      } catch {
        // The kind of the next navigation says it.
      }
    },
    forget() {
      try {
        sessionStorage.removeItem(RELOADED);
      } catch {
        // Nothing was kept.
      }
    },
  };

  try {
    const look = JSON.parse(localStorage.getItem("iba-lab.settings") ?? "{}");
    if (look.theme === "light" || look.theme === "dark") root.dataset.theme = look.theme;
    if (look.large_type) root.dataset.type = "large";
  } catch {
    // Unreadable settings: the program itself falls back to its defaults.
  }

  // After a new release, a cached half of the program does not fit the other half: one reload
  // past the cache, never two.
  const reloadOnce = async () => {
    if (reloaded.get()) return false;
    reloaded.set();
    const fresh = [location.href.split("#")[0], js, wasm, document.baseURI];
    await Promise.allSettled(fresh.map((url) => fetch(url, { cache: "reload" })));
    location.reload();
    return true;
  };

  const fail = async (error) => {
    const text = String(error);
    const stale = /LinkError|\bimport|module script|404/i.test(text);
    if (stale && (await reloadOnce())) return;
    const box = document.getElementById("crashed");
    document.getElementById("skeleton")?.remove();
    document.getElementById("crashed-text").textContent = `The program could not be started (${text}).`;
    box.hidden = false;
  };

  const ready = new Promise((done) => {
    if (document.readyState !== "loading") done();
    else document.addEventListener("DOMContentLoaded", done, { once: true });
  });

  // The smallest module with a vector instruction.
  const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];

  const start = async () => {
    if (typeof WebAssembly !== "object") {
      throw new Error("this browser has no WebAssembly; any browser since 2023 has");
    }
    if (!WebAssembly.validate(new Uint8Array(SIMD))) {
      throw new Error("this browser's WebAssembly has no SIMD, which any browser since 2023 has: update it, or open the page in another one");
    }
    const program = await import(new URL(js, document.baseURI));
    await ready;
    await program.default({ module_or_path: new URL(wasm, document.baseURI) });
    reloaded.forget();
    // Later visits work without a network. Not possible everywhere (plain http, private windows),
    // and then the page simply needs one.
    navigator.serviceWorker?.register("sw.js").catch(() => {});
  };

  start().catch(async (error) => {
    await ready;
    await fail(error);
  });
})();
