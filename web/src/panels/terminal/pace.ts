// Long pauses made short, and the way between the two clocks.
// In: times of events since the run began. Out: when each is played, and for any time of one clock that of the other. Pure.

export interface Pace {
  played: number[];
  /** From the clock of the run to that of the player, and back. */
  toPlayed(at: number): number;
  toRun(at: number): number;
}

export function paceOf(times: number[], longestPause: number | null): Pace {
  const played: number[] = [];
  let last = 0;
  let clock = 0;
  for (const at of times) {
    const pause = Math.max(at - last, 0);
    clock += longestPause === null ? pause : Math.min(pause, longestPause);
    played.push(clock);
    last = Math.max(at, last);
  }
  return { played, toPlayed: (at) => between(times, played, at), toRun: (at) => between(played, times, at) };
}

/** Where `at` on one clock is on the other: between the two events that it is between. */
function between(from: number[], to: number[], at: number): number {
  let low = 0;
  let high = from.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (from[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  const [fromStart, toStart] = low ? [from[low - 1]!, to[low - 1]!] : [0, 0];
  if (low >= from.length) return toStart + Math.max(at - fromStart, 0);
  const share = from[low]! > fromStart ? (at - fromStart) / (from[low]! - fromStart) : 0;
  return toStart + share * (to[low]! - toStart);
}
