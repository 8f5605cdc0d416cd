import assert from "node:assert/strict";
import { test } from "node:test";
import { around, between, clock, cut, lasting, overlaps, panned, placeOf, ticks, within, zoomed } from "../src/span";

const whole = { from: 0, to: 1000e6 };

test("what is under the pointer stays there when somebody zooms", () => {
  const view = zoomed(whole, 250e6, 0.5, whole);
  assert.deepEqual(view, { from: 125e6, to: 625e6 });
});

test("nobody zooms out of the run, nor closer than a microsecond", () => {
  assert.deepEqual(zoomed({ from: 100e6, to: 200e6 }, 150e6, 100, whole), whole);
  const near = zoomed({ from: 100e6, to: 100e6 + 1000 }, 100e6, 0.1, whole);
  assert.equal(near.to - near.from, 1000);
});

test("a view that is moved ends at the ends of the run, as long as it was", () => {
  assert.deepEqual(panned({ from: 100e6, to: 300e6 }, 5000e6, whole), { from: 800e6, to: 1000e6 });
  assert.deepEqual(panned({ from: 100e6, to: 300e6 }, -5000e6, whole), { from: 0, to: 200e6 });
});

test("a window that is dragged out of the run is cut, not moved", () => {
  assert.deepEqual(cut(between(900e6, 1500e6), whole), { from: 900e6, to: 1000e6 });
  assert.deepEqual(within({ from: 900e6, to: 1500e6 }, whole), { from: 400e6, to: 1000e6 });
});

test("a window has its ends, whichever way it was dragged", () => {
  assert.deepEqual(between(5, 2), { from: 2, to: 5 });
  assert.equal(overlaps({ from: 2, to: 5 }, 5, 9), true);
  assert.equal(overlaps({ from: 2, to: 5 }, 6, 9), false);
  assert.equal(overlaps(null, 6, 9), true);
});

test("a point in time is looked at with room around it", () => {
  const view = around({ from: 500e6, to: 500e6 }, whole);
  assert.ok(view.from < 500e6 && view.to > 500e6 && view.to - view.from >= 1000);
});

test("ticks are round, in order and few enough", () => {
  const made = ticks({ from: 0.13e9, to: 1.71e9 }, 8);
  assert.deepEqual(made.map((one) => one.label), ["0.2s", "0.4s", "0.6s", "0.8s", "1.0s", "1.2s", "1.4s", "1.6s"]);
  for (const length of [1e3, 1e6, 7e9, 500e9, 90_000e9, 1e6 * 1e9]) {
    const some = ticks({ from: length / 3, to: length }, 10);
    assert.ok(some.length >= 1 && some.length <= 11, `${length}: ${some.length}`);
    assert.equal(new Set(some.map((one) => one.label)).size, some.length);
  }
});

test("times and lengths of time are short", () => {
  assert.equal(clock(61.5e9, 1e8), "1:01.5");
  assert.equal(clock(3_661e9, 1e9), "1:01:01");
  assert.equal(clock(12_345_678, 1e6), "0.012s");
  assert.deepEqual([999, 4_560, 12_300_000, 1.5e9, 61e9].map(lasting), ["999ns", "4.56µs", "12.3ms", "1.50s", "1:01"]);
});

test("the first time that is not before another is found", () => {
  const times = [1, 3, 3, 7];
  assert.deepEqual([0, 1, 2, 3, 4, 8].map((at) => placeOf(times, at)), [0, 0, 1, 1, 3, 4]);
});
