// Work that is only done for what is looked at, at most once a frame, and not while somebody types.

/** Returns a trigger for `act`: it runs in the next frame, or, when `element` is out of sight then, as soon as it is in sight. */
export function whenSeen(element: Element, act: () => void): () => void {
  let isWanted = false;
  let isWaiting = false;
  const run = () => {
    isWaiting = false;
    if (!isWanted || !element.getClientRects().length) return;
    isWanted = false;
    act();
  };
  new ResizeObserver(run).observe(element);
  return () => {
    isWanted = true;
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(run);
  };
}

/** What takes a while waits until there is something to look at. */
export function afterPaint(): Promise<void> {
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

const PAUSE_MS = 120;

/** Calls `act` when somebody pauses in typing into a field, and at once when they leave it or press Enter. */
export function whenTyped(field: HTMLInputElement, act: () => void): void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const now = () => {
    clearTimeout(waiting);
    if (waiting === undefined) return;
    waiting = undefined;
    act();
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(now, PAUSE_MS);
  });
  field.addEventListener("change", now);
}
