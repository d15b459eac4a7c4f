// Keeps the page's own files for visits without a network. Datasets and models are kept elsewhere,
// by their hashes. Whatever may change under the same name (index.html above all) comes from the
// network when there is one, so that a new release is never hidden behind an old copy.

const CACHE = "iba-lab-page-1";
// Trunk puts a hash of the contents into these names (leading zeros left out): they never change.
const HASHED = /-([0-9a-f]{10,16})(_bg)?\.(js|wasm|css|svg)$/;
const ELSEWHERE = /\/(datasets|models)\//;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const ours = request.method === "GET" && url.href.startsWith(self.registration.scope);
  if (!ours || ELSEWHERE.test(url.pathname)) return;
  event.respondWith(HASHED.test(url.pathname) ? cacheFirst(event) : networkFirst(event));
});

async function cacheFirst(event) {
  const kept = await (await caches.open(CACHE)).match(event.request, { ignoreVary: true });
  return kept ?? fromNetwork(event);
}

async function networkFirst(event) {
  try {
    return await fromNetwork(event);
  } catch (error) {
    // Views live in the fragment, so every navigation is the same page.
    const ignoreSearch = event.request.mode === "navigate";
    const kept = await (await caches.open(CACHE)).match(event.request, { ignoreVary: true, ignoreSearch });
    if (kept) return kept;
    throw error;
  }
}

// Answers at once, so that the program compiles while it arrives, and keeps a copy on the side.
async function fromNetwork(event) {
  const response = await fetch(event.request);
  if (response.ok && response.type === "basic") {
    const copy = response.clone();
    event.waitUntil(keep(event.request, copy).catch(() => {})); // a full disk costs only the offline visit
  }
  return response;
}

async function keep(request, response) {
  const cache = await caches.open(CACHE);
  const page = request.mode === "navigate" ? await response.clone().text() : null;
  await cache.put(request, response);
  if (page) await forgetOld(cache, page);
}

// Files of earlier releases, whose hashes the new page names no more. The parts of a program have
// the hash of the program.
async function forgetOld(cache, page) {
  for (const { url } of await cache.keys()) {
    const hash = HASHED.exec(new URL(url).pathname)?.[1];
    if (hash && !page.includes(hash)) await cache.delete(url);
  }
}
