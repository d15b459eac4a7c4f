// Files dragged from the desktop onto the page, folders included: through the browser's own drag
// and drop, not by an event made in the page.

/**
 * Drops files and folders, by their absolute paths, onto the middle of the page. The browser lets a
 * drop go by when a busy page has not yet accepted what is held over it; then it is tried again.
 */
export async function drop(page, ...files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  const { width, height } = page.viewportSize();
  await page.evaluate(() => {
    globalThis.dropped = false;
    addEventListener("drop", () => { globalThis.dropped = true; }, { capture: true, once: true });
  });
  let arrived = false;
  for (let tries = 0; tries < 5 && !arrived; tries += 1) {
    for (const type of ["dragEnter", "dragOver", "drop"]) {
      await session.send("Input.dispatchDragEvent", { type, x: width / 2, y: height / 2, data });
    }
    arrived = await page.waitForFunction(() => globalThis.dropped, null, { timeout: 3000 }).then(() => true, () => false);
  }
  await session.detach();
}
