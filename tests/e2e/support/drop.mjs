// Files dragged from the desktop onto the page, folders included: through the browser's own drag
// and drop, not by an event made in the page.

/** Drops files and folders, by their absolute paths, onto the middle of the page. */
export async function drop(page, ...files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  const { width, height } = page.viewportSize();
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: width / 2, y: height / 2, data });
  }
  await session.detach();
}
