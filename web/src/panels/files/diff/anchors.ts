// Where two texts surely meet: lines that each of them has once, in the order of both (the longest such sequence).
// In: two lists of lines. Out: pairs of places. Between two pairs the texts can be compared apart, so that a large file with
// many changes takes no longer than many small ones. Pure.

export function anchors(one: string[], other: string[]): [number, number][] {
  const [ours, theirs] = [placesOf(one), placesOf(other)];
  const pairs: [number, number][] = [];
  for (const [line, place] of ours) {
    const there = theirs.get(line) ?? -1;
    if (place >= 0 && there >= 0) pairs.push([place, there]);
  }
  return longestRise(pairs.sort((a, b) => a[0] - b[0]));
}

/** Where each line is; -1: in more than one place. */
function placesOf(lines: string[]): Map<string, number> {
  const places = new Map<string, number>();
  lines.forEach((line, at) => places.set(line, places.has(line) ? -1 : at));
  return places;
}

/** The longest sequence of pairs whose second places rise, as patience sorting finds it. */
function longestRise(pairs: [number, number][]): [number, number][] {
  const piles: number[] = [];
  const before = new Int32Array(pairs.length);
  pairs.forEach(([, there], at) => {
    let low = 0;
    let high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[piles[middle]!]![1] < there) low = middle + 1;
      else high = middle;
    }
    before[at] = low ? piles[low - 1]! : -1;
    piles[low] = at;
  });
  const rise: [number, number][] = [];
  for (let at = piles[piles.length - 1] ?? -1; at >= 0; at = before[at]!) rise.push(pairs[at]!);
  return rise.reverse();
}
