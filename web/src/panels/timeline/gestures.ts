// Wheel, drag, pinch, touch and keys on the timeline, told as what they mean.

export interface Gestures {
  zoom(x: number, factor: number): boolean;
  pan(dx: number, dy: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number): void;
  select(from: number, to: number, done: boolean): void;
  key(event: KeyboardEvent): boolean;
}

const LEAST_DRAG = 4;
const WHEEL_STEP = 0.0022;

export function listen(canvas: HTMLElement, to: Gestures): void {
  const fingers = new Map<number, { x: number; y: number }>();
  let down: { x: number; y: number; selecting: boolean; moved: boolean } | null = null;
  const point = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener(
    "wheel",
    (event) => {
      const { x } = point(event);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) to.pan(-event.deltaX, 0);
      else if (event.shiftKey) to.pan(-event.deltaY, 0);
      else if (!to.zoom(x, Math.exp(event.deltaY * WHEEL_STEP * (event.ctrlKey ? 4 : 1)))) return;
      event.preventDefault();
    },
    { passive: false },
  );

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = point(event);
    fingers.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    down = { ...at, selecting: event.shiftKey, moved: false };
  });

  canvas.addEventListener("pointermove", (event) => {
    const at = point(event);
    const before = fingers.get(event.pointerId);
    if (!before || !down) return to.hover(at.x, at.y);
    if (fingers.size === 2) return pinch(event.pointerId, before, at);
    down.moved ||= Math.hypot(at.x - down.x, at.y - down.y) >= LEAST_DRAG;
    fingers.set(event.pointerId, at);
    if (!down.moved) return;
    to.leave();
    if (down.selecting) to.select(down.x, at.x, false);
    else to.pan(at.x - before.x, event.pointerType === "touch" ? 0 : at.y - before.y);
  });

  function pinch(id: number, before: { x: number; y: number }, at: { x: number; y: number }): void {
    const other = [...fingers].find(([one]) => one !== id)![1];
    fingers.set(id, at);
    down!.moved = true;
    const [was, is] = [Math.abs(before.x - other.x), Math.abs(at.x - other.x)];
    if (was > 8 && is > 8) to.zoom((at.x + other.x) / 2, was / is);
  }

  const up = (event: PointerEvent) => {
    const at = point(event);
    if (!fingers.delete(event.pointerId) || !down) return;
    const { selecting, moved, x } = down;
    if (fingers.size > 0) return;
    down = null;
    if (selecting && moved) to.select(x, at.x, true);
    else if (!moved && event.type === "pointerup") to.click(at.x, at.y);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => to.leave());
  canvas.addEventListener("dblclick", (event) => to.doubleClick(point(event).x));
  canvas.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && to.key(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}
